// The search panel: a combobox with a list of results.

const DELAY = 180; // ms without a key press before a search, since publishable keys have a rate limit
const PAGE = 10;
const KEPT = 30; // cached results, for going back while typing
const MAX_QUERY = 500;

/** Creates the panel. ui: {client, options, labels, say, close, ask, host} */
function searchPanel(ui) {
  const { client, options, labels, say } = ui;
  const kept = new Map();
  let timer = 0, controller = null;
  let found = null; // the displayed {query, meant, results, total}
  let active = -1, browsing = false; // browsing: the arrow keys are in use
  let answered = 0;

  const input = h("input", {
    class: "input", type: "text", role: "combobox", dir: "auto", maxlength: MAX_QUERY, placeholder: options.placeholder, "aria-label": labels.search,
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "results", "aria-haspopup": "listbox",
    autocomplete: "off", autocapitalize: "off", spellcheck: "false", enterkeyhint: "search",
    input: (event) => event.isComposing || changed(), compositionend: () => changed(), keydown: keys,
  });
  const clear = h("button", { type: "button", class: "quiet", hidden: true, "aria-label": labels.clear, click: () => {
    input.value = "";
    changed();
    input.focus();
  } }, icon("close"));
  const list = h("div", { class: "results", id: "results", role: "listbox", "aria-label": labels.results, hidden: true });
  const message = h("div", { class: "message" });
  const corrected = h("p", { class: "corrected", dir: "auto", hidden: true });
  const body = h("div", { class: "body" }, message, corrected, list);
  const hint = (key, label) => h("span", null, h("kbd", null, key), label);
  const count = h("span", { class: "count", dir: "auto" });
  const foot = h("div", { class: "foot", "aria-hidden": "true" }, count,
    h("span", { class: "hints" }, hint("↑↓", labels.hintMove), hint("↵", labels.hintOpen), hint("esc", labels.hintClose)));
  const element = h("section", { class: "panel", id: "panel-search" },
    h("div", { class: "field" }, icon("search"), input, clear), h("div", { class: "progress" }), body, foot);
  const rows = () => [...list.children].filter((row) => row.getAttribute("role") === "option");
  const waiting = () => timer !== 0 || controller !== null;

  function busy(on) {
    element.classList.toggle("busy", on);
    list.setAttribute("aria-busy", String(on));
  }

  /** Cancels the current request. */
  function stop() {
    clearTimeout(timer);
    timer = 0;
    controller?.abort();
    controller = null;
    busy(false);
  }

  function changed(now = false) {
    stop();
    browsing = false;
    const query = input.value.trim();
    clear.hidden = input.value === "";
    if (query === "") return idle();
    if (kept.has(query)) return show(query, kept.get(query));
    busy(true);
    if (now) return run(query, 0);
    timer = setTimeout(run, DELAY, query, 0);
  }

  async function run(query, offset) {
    clearTimeout(timer);
    timer = 0;
    const mine = controller = new AbortController();
    busy(true);
    try {
      const answer = await client.search({
        query, collection: options.collection, limit: PAGE, offset: offset || undefined, min_score: options.minScore, highlight: true,
      }, { signal: mine.signal });
      if (mine !== controller) return; // another request was started
      controller = null;
      busy(false);
      const all = { results: offset ? found.results.concat(answer.results) : answer.results, total: answer.total, meant: typeof answer.did_you_mean === "string" ? answer.did_you_mean : "" };
      keep(query, all);
      show(query, all, offset);
    } catch (error) {
      if (mine !== controller) return;
      controller = null;
      busy(false);
      fail(error);
    }
  }

  function keep(query, answer) {
    kept.delete(query);
    kept.set(query, answer);
    if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  }

  function blank() {
    found = null;
    list.replaceChildren();
    list.hidden = corrected.hidden = true;
    count.textContent = "";
    input.setAttribute("aria-expanded", "false");
    select(-1);
  }

  function idle() {
    blank();
    message.replaceChildren(icon("search"), h("p", null, labels.empty));
    say("");
  }

  function fail(error) {
    blank();
    const text = explain(error, labels);
    const again = h("button", { type: "button", class: "button", click: () => {
      changed(true);
      input.focus();
    } }, labels.again);
    const number = error.status >= 500 && h("p", { class: "faint" }, fill(labels.errorNumber, { id: error.requestId }));
    message.replaceChildren(...[icon("warn"), h("p", { dir: "auto" }, text), number, again].filter(Boolean));
    say(text);
  }

  function show(query, answer, from = 0) {
    found = { query, ...answer };
    const { results, total, meant } = answer;
    answered++;
    const options = results.map((result, i) => resultRow(result, `option-${answered}-${i}`));
    const asking = ui.ask && h("div", { class: "row ask", role: "option", id: `option-${answered}-ask`, "aria-selected": "false", click: () => ui.ask(query) },
      icon("ask"), h("div", { class: "title" }, fill(labels.askAbout, { query })));
    const more = results.length > 0 && results.length < total && h("div", {
      class: "row more", role: "option", id: `option-${answered}-more`, "aria-selected": "false", click: () => run(query, results.length),
    }, labels.more);
    list.replaceChildren(...[asking, ...options, more].filter(Boolean));
    list.hidden = list.children.length === 0;
    corrected.hidden = !meant || !results.length;
    corrected.textContent = meant ? fill(labels.corrected, { query: meant }) : "";
    input.setAttribute("aria-expanded", String(!list.hidden));
    message.replaceChildren(...(results.length ? [] : [
      h("p", { dir: "auto" }, fill(labels.noResults, { query: meant || query })), h("p", { class: "faint" }, labels.noResultsHint),
    ]));
    const said = results.length === 0 ? fill(labels.noResults, { query: meant || query })
      : results.length < total ? fill(labels.someResults, { n: results.length, total })
        : total === 1 ? labels.oneResult : fill(labels.manyResults, { n: total });
    count.textContent = results.length ? said : "";
    say(corrected.hidden ? said : `${corrected.textContent}. ${said}`);
    if (!from) body.scrollTop = 0;
    // Enter opens the first result, or the first new one after loading more, and
    // not the question.
    const first = asking ? 1 : 0;
    select(results.length ? Math.min(first + from, rows().length - 1) : asking ? 0 : -1, from > 0);
  }

  function resultRow(result, id) {
    const url = safeURL(result.url) ?? safeURL(result.metadata?.url);
    // The innermost heading, after its parents.
    const title = String(result.title || labels.untitled);
    const path = (Array.isArray(result.heading_path) ? result.heading_path : []).map(String).filter((heading) => heading.trim() !== "");
    if (path[0] !== title) path.unshift(title);
    const heading = path.pop();
    const outside = url && linkTo(url).target;
    const row = h(url ? "a" : "div", {
      class: "row", role: "option", id, "aria-selected": "false", tabindex: url ? -1 : null, ...(url ? linkTo(url) : null),
    },
    icon("page"),
    h("div", { class: "what" },
      h("div", { class: "title", dir: "auto" }, heading,
        result.version && h("span", { class: "tag" }, String(result.version))),
      path.length > 0 && h("div", { class: "path", dir: "auto" }, path.join(" › ")),
      h("div", { class: "snippet", dir: "auto" }, snippetNodes(result.snippet))),
    outside && icon("out"), outside && h("span", { class: "sr" }, ` (${labels.newTab})`));
    row.addEventListener("click", (event) => {
      const chosen = new CustomEvent("magpie:select", { detail: { result, query: found?.query }, bubbles: true, composed: true, cancelable: true });
      if (!ui.host.dispatchEvent(chosen)) {
        event.preventDefault();
        ui.close();
      } else if (!url) row.classList.toggle("whole");
      else if (!outside && !event.ctrlKey && !event.metaKey && !event.shiftKey) ui.close();
    });
    return row;
  }

  function select(index, scroll = false) {
    const all = rows();
    active = index;
    all.forEach((row, i) => row.setAttribute("aria-selected", String(i === index)));
    if (all[index]) input.setAttribute("aria-activedescendant", all[index].id);
    else input.removeAttribute("aria-activedescendant");
    if (scroll) all[index]?.scrollIntoView({ block: "nearest" });
  }

  list.addEventListener("pointermove", (event) => {
    const index = rows().indexOf(event.target.closest("[role=option]"));
    if (index >= 0 && index !== active) select(index);
  });
  // The focus stays in the field.
  list.addEventListener("mousedown", (event) => event.target.closest("a") || event.preventDefault());

  function keys(event) {
    if (event.isComposing || event.altKey) return;
    const last = rows().length - 1;
    const go = (index) => {
      event.preventDefault();
      browsing = true;
      select(index, true);
    };
    switch (event.key) {
      case "ArrowDown":
        return last >= 0 ? go(active >= last ? 0 : active + 1) : undefined;
      case "ArrowUp":
        return last >= 0 ? go(active <= 0 ? last : active - 1) : undefined;
      case "Home": // while typing they move the caret
        return browsing && last >= 0 ? go(0) : undefined;
      case "End":
        return browsing && last >= 0 ? go(last) : undefined;
      case "ArrowLeft": case "ArrowRight":
        browsing = false;
        return undefined;
      case "Enter": {
        event.preventDefault();
        const row = rows()[active];
        // During a request the list has the results of an earlier query.
        if (waiting() || !row || found.query !== input.value.trim()) return changed(true);
        if (row.localName === "a" && (event.ctrlKey || event.metaKey)) open(row.href, "_blank", "noopener");
        else row.click();
        return undefined;
      }
    }
  }

  idle();
  return {
    element, stop,
    focus() {
      input.focus();
      input.select();
    },
    /** Searches for a query like typing it. */
    fill(query) {
      input.value = query.slice(0, MAX_QUERY);
      changed(true);
    },
    /** Resumes the request that closing has interrupted. */
    resume() {
      if (input.value.trim() !== "" && found?.query !== input.value.trim()) changed(true);
    },
  };
}
