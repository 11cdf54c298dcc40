// The chat panel: questions, streamed answers, their sources.

const PAINT = 50; // ms between two updates of a growing answer
const MAX_MESSAGE = 4000;

/** Creates the panel. ui: {client, options, labels, say} */
function chatPanel(ui) {
  const { client, options, labels, say } = ui;
  let conversation = null, controller = null;

  const input = h("textarea", {
    class: "input", rows: 1, dir: "auto", maxlength: MAX_MESSAGE, placeholder: labels.askPlaceholder, "aria-label": labels.askPlaceholder, enterkeyhint: "send",
    input: () => {
      grow();
      ready();
    },
    keydown: (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      submit();
    },
  });
  const send = h("button", { type: "submit", class: "send", disabled: true, "aria-label": labels.send }, icon("send"));
  const halt = h("button", { type: "button", class: "send", hidden: true, "aria-label": labels.stop, click: () => {
    stop();
    input.focus();
  } }, icon("stop"));
  const restart = h("button", { type: "button", class: "button small", hidden: true, click: begin }, icon("restart"), labels.restart);
  const message = h("div", { class: "message" }, icon("ask"), h("p", null, labels.askEmpty));
  const log = h("div", { class: "log", role: "log", "aria-live": "off", "aria-label": labels.conversation });
  const body = h("div", { class: "body", tabindex: -1 }, message, log);
  const element = h("section", { class: "panel", id: "panel-chat" }, body,
    h("form", { class: "composer", submit: (event) => {
      event.preventDefault();
      submit();
    } }, h("div", { class: "field" }, input, send, halt)),
    h("div", { class: "foot" }, restart));

  // For browsers without field-sizing.
  function grow() {
    input.rows = Math.min(6, Math.max(1, input.value.split("\n").length));
  }

  function ready() {
    send.disabled = input.value.trim() === "";
  }

  function busy(on) {
    element.classList.toggle("busy", on);
    log.setAttribute("aria-busy", String(on));
    // Hiding a focused button would lose the focus.
    const held = element.getRootNode().activeElement;
    if (held === send || held === halt) input.focus();
    send.hidden = on;
    halt.hidden = !on;
    ready();
  }

  function submit() {
    const question = input.value.trim();
    if (question === "" || controller) return;
    input.value = "";
    grow();
    ask(question);
  }

  /** Stops the current answer. */
  function stop() {
    controller?.abort();
  }

  function begin() {
    stop();
    controller = conversation = null;
    busy(false);
    log.replaceChildren();
    message.hidden = false;
    restart.hidden = true;
    input.placeholder = labels.askPlaceholder;
    say("");
    input.focus();
  }

  async function ask(question) {
    if (controller) return;
    const mine = controller = new AbortController();
    message.hidden = true;
    restart.hidden = false;
    input.placeholder = labels.askFollowUp;
    for (const old of log.querySelectorAll(".next, .retry")) old.remove();
    const text = h("div", { class: "text" });
    const dots = h("div", { class: "dots" }, h("i"), h("i"), h("i"));
    const answer = h("article", { class: "answer", "aria-label": labels.answer }, dots, text);
    const turn = h("div", { class: "turn" }, h("div", { class: "question" }, h("span", { class: "sr" }, labels.you + ": "), h("p", { dir: "auto" }, question)), answer);
    log.append(turn);
    turn.scrollIntoView({ block: "start" });
    busy(true);
    say(labels.answering);

    let said = "", sources = null, timer = 0;
    const write = growingText(text);
    const paint = (anew = false) => {
      clearTimeout(timer);
      timer = 0;
      const atEnd = body.scrollHeight - body.scrollTop - body.clientHeight < 60;
      write(said, (n) => citation(n, sources, answer), anew);
      dots.hidden = said !== "";
      // Scrolls with the text until its beginning reaches the top.
      if (atEnd) body.scrollTop = Math.min(body.scrollHeight, turn.offsetTop - body.offsetTop);
    };
    let failure = null, request = null;
    try {
      const stream = client.chat({ message: question, conversation_id: conversation ?? undefined, collection: options.collection }, { signal: mine.signal });
      for await (const event of stream) {
        if (mine !== controller) return undefined;
        conversation = stream.conversationId ?? conversation;
        request = stream.requestId;
        if (event.type === "content") {
          said += event.delta;
          timer ||= setTimeout(paint, PAINT);
        } else if (event.type === "sources") {
          sources = event.sources;
          paint(true); // citations become links
          answer.append(...sourceList(sources));
        } else if (event.type === "follow_up") answer.append(...followUps(event.questions));
        else if (event.type === "error") failure = new MagpieError(event.error);
      }
    } catch (error) {
      failure = error;
    }
    if (mine !== controller) return undefined; // a new conversation was started
    paint();
    dots.remove();
    controller = null;
    busy(false);
    if (mine.signal.aborted) {
      answer.append(h("p", { class: "faint" }, labels.stopped));
      say(labels.stopped);
    } else if (failure?.code === "not_found" && conversation) {
      conversation = null; // it was deleted on the server, so this question starts a new one
      turn.remove();
      return ask(question);
    } else if (failure) {
      const why = explain(failure, labels);
      answer.append(h("div", { class: "retry" }, h("p", { class: "wrong", dir: "auto" }, icon("warn"), why),
        failure.status >= 500 && h("p", { class: "faint" }, fill(labels.errorNumber, { id: failure.requestId })),
        h("button", { type: "button", class: "button", click: () => {
          turn.remove();
          input.focus();
          ask(question);
        } }, labels.again)));
      say(why);
    } else {
      if (request) answer.append(thumbs(request));
      say(labels.answer + ": " + text.textContent);
    }
    return undefined;
  }

  /** Creates the buttons that rate an answer. A visitor presses one of them once. */
  function thumbs(request) {
    const group = h("div", { class: "thumbs" });
    const thumb = (name, label, rating) => h("button", { type: "button", class: "quiet", "aria-label": label, title: label, click: () => {
      client.record({ type: "feedback", request_id: request, rating }).catch(() => {});
      group.replaceChildren(h("p", { class: "faint" }, labels.thanks));
      input.focus();
      say(labels.thanks);
    } }, icon(name));
    group.append(thumb("up", labels.helpful, "positive"), thumb("down", labels.unhelpful, "negative"));
    return group;
  }

  /** Creates the node of a citation [n]. The sources are null until they are known. */
  function citation(n, sources, answer) {
    if (n < 1) return null;
    if (!sources) return h("span", { class: "cite" }, String(n));
    const source = sources[n - 1];
    if (!source) return null;
    const name = fill(labels.source, { n, title: source.title || labels.untitled });
    const url = safeURL(source.url);
    if (url) return h("a", { class: "cite", ...linkTo(url), "aria-label": name, title: source.title }, String(n));
    // The link of a source without a URL goes to the list of sources.
    return h("button", { type: "button", class: "cite", "aria-label": name, title: source.title, click: () => {
      const item = answer.querySelectorAll(".sources li")[n - 1];
      item?.focus();
      item?.scrollIntoView({ block: "nearest" });
    } }, String(n));
  }

  function sourceList(sources) {
    if (sources.length === 0) return [];
    return [h("div", { class: "sources" }, h("h3", null, labels.sources), h("ol", null, sources.map((source, i) => {
      const url = safeURL(source.url);
      const title = String(source.title || labels.untitled);
      return h("li", { tabindex: -1, dir: "auto" }, h("span", { class: "cite", "aria-hidden": "true" }, String(i + 1)),
        url ? h("a", linkTo(url), title, linkTo(url).target && h("span", { class: "sr" }, ` (${labels.newTab})`)) : h("span", null, title));
    })))];
  }

  function followUps(questions) {
    if (questions.length === 0) return [];
    return [h("div", { class: "next" }, h("h3", null, labels.followUp), questions.map((question) =>
      h("button", { type: "button", class: "button", dir: "auto", click: () => {
        input.focus();
        ask(question);
      } }, question)))];
  }

  return {
    element, stop, ask,
    focus() {
      input.focus();
    },
  };
}
