// The search panel: a combobox with a list of results.

const DELAY = 120; // ms without a key press before a search for what was typed
const SETTLE = 1000; // ms without a key press after which a query is settled; settled queries are logged
const PAGE = 10;
const KEPT = 30; // cached results, for going back while typing
const MAX_QUERY = 500;

/** Creates the panel. ui: {client, options, labels, say, close, ask, host} */
function searchPanel(ui) {
  const { client, options, labels, say } = ui;
  const kept = new Map();
  let timer = 0, settling = 0, controller = null;
  let found = null; // the displayed {query, typing, request, meant, results, total}
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
  const versions = options.versions.length > 0 && h("select", { class: "version", "aria-label": labels.version, change: () => changed(true) },
    options.versions.map((version) => h("option", { value: version }, version)), h("option", { value: "" }, labels.allVersions));
  if (versions) versions.value = options.versions.includes(options.filters?.version) ? options.filters.version : options.versions[0];
  const message = h("div", { class: "message" });
  const corrected = h("p", { class: "corrected", dir: "auto", hidden: true });
  const body = h("div", { class: "body" }, message, corrected, list);
  const hint = (key, label) => h("span", null, h("kbd", null, key), label);
  const count = h("span", { class: "count", dir: "auto" });
  const foot = h("div", { class: "foot", "aria-hidden": "true" }, count,
    h("span", { class: "hints" }, hint("↑↓", labels.hintMove), hint("↵", labels.hintOpen), hint("esc", labels.hintClose)));
  const element = h("section", { class: "panel", id: "panel-search" },
    h("div", { class: "field" }, icon("search"), input, versions, clear), h("div", { class: "progress" }), body, foot);
  const rows = () => [...list.children].filter((row) => row.getAttribute("role") === "option");
  const waiting = () => timer !== 0 || (controller !== null && found?.query !== input.value.trim());

  function busy(on) {
    element.classList.toggle("busy", on);
    list.setAttribute("aria-busy", String(on));
  }

  /** Cancels the current request. */
  function stop() {
    clearTimeout(timer);
    clearTimeout(settling);
    timer = settling = 0;
    controller?.abort();
    controller = null;
    busy(false);
  }

  /** Returns the filters of the page, with the chosen version. */
  function filters() {
    if (!versions) return options.filters;
    return { ...options.filters, version: versions.value || undefined };
  }

  const keyOf = (query, typing) => [typing ? "typing" : "settled", versions ? versions.value : "", query].join(" ");

  /** Returns the parameters of a search. The lowest score of the page would hide what an unfinished word finds. */
  function parameters(query, typing, offset) {
    return {
      query, collection: options.collection, limit: PAGE, offset: offset || undefined, min_score: typing ? undefined : options.minScore, highlight: true,
      prefix: typing || undefined, filters: filters(),
    };
  }

  function changed(now = false) {
    stop();
    browsing = false;
    const query = input.value.trim();
    clear.hidden = input.value === "";
    if (query === "") return idle();
    const settled = kept.get(keyOf(query, false)), typed = kept.get(keyOf(query, true));
    if (settled) return show(query, settled);
    if (now) return run(query, 0, false);
    settling = setTimeout(run, SETTLE, query, 0, false);
    if (typed) return show(query, typed);
    busy(true);
    timer = setTimeout(run, DELAY, query, 0, true);
  }

  async function run(query, offset, typing) {
    clearTimeout(timer);
    timer = 0;
    if (!typing) {
      clearTimeout(settling);
      settling = 0;
    }
    controller?.abort();
    const mine = controller = new AbortController();
    busy(true);
    try {
      const answer = await client.search(parameters(query, typing, offset), { signal: mine.signal });
      if (mine !== controller) return; // another request was started
      controller = null;
      busy(false);
      const all = {
        results: offset ? found.results.concat(answer.results) : answer.results, total: answer.total, typing, request: offset ? found.request : answer.requestId,
        meant: typeof answer.did_you_mean === "string" ? answer.did_you_mean : "",
      };
      const before = found?.query === query && found.typing ? found : null;
      // A word that is not finished has only what begins with it; and a chosen row stays.
      const same = before && before.total === all.total && before.meant === all.meant && before.results.map((one) => one.id).join() === all.results.map((one) => one.id).join();
      if (!typing && !offset && before?.results.length && (same || browsing || all.results.length === 0)) {
        found = { ...before, typing: false, request: all.request };
        keep(keyOf(query, false), found);
        return;
      }
      keep(keyOf(query, typing), all);
      show(query, all, offset);
    } catch (error) {
      if (mine !== controller) return;
      controller = null;
      busy(false);
      fail(error);
    }
  }

  /** Tells of a click on a result. A query that is not settled yet is, by that; both requests outlive the page. */
  function clicked(result, position) {
    if (!found) return;
    const ids = [result.id, result.document_id].map((id) => (IDS.test(id) ? id : undefined));
    let request = found.typing ? "" : found.request;
    if (!request) {
      request = newID();
      found = { ...found, typing: false, request };
      keep(keyOf(found.query, false), found);
      stop();
      client.search(parameters(found.query, false, 0), { headers: { "X-Request-Id": request }, keepalive: true }).catch(() => {});
    }
    if (ids[0] || ids[1]) client.record({ type: "click", request_id: request, result_id: ids[0], document_id: ids[1], position }).catch(() => {});
  }

  function keep(key, answer) {
    kept.delete(key);
    kept.set(key, answer);
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
    const pages = byPage(results);
    const options = pages.map(({ result, index, further }) => resultRow(result, index, further, `option-${answered}-${index}`));
    const asking = ui.ask && h("div", { class: "row ask", role: "option", id: `option-${answered}-ask`, "aria-selected": "false", click: () => ui.ask(query) },
      icon("ask"), h("div", { class: "title" }, fill(labels.askAbout, { query })));
    const more = results.length > 0 && results.length < total && h("div", {
      class: "row more", role: "option", id: `option-${answered}-more`, "aria-selected": "false", click: () => run(query, results.length, found.typing),
    }, labels.more);
    list.replaceChildren(...[asking, ...options, more].filter(Boolean));
    list.hidden = list.children.length === 0;
    corrected.hidden = !meant || !results.length;
    corrected.textContent = meant ? fill(labels.corrected, { query: meant }) : "";
    input.setAttribute("aria-expanded", String(!list.hidden));
    // In the middle of a word nothing is missing yet.
    message.replaceChildren(...(results.length ? [] : found.typing ? [h("p", { class: "faint" }, labels.searching)] : [
      h("p", { dir: "auto" }, fill(labels.noResults, { query: meant || query })), h("p", { class: "faint" }, labels.noResultsHint),
    ]));
    const said = results.length === 0 ? (found.typing ? "" : fill(labels.noResults, { query: meant || query }))
      : results.length < total ? fill(labels.someResults, { n: results.length, total })
        : total === 1 ? labels.oneResult : fill(labels.manyResults, { n: total });
    count.textContent = results.length ? said : "";
    say(corrected.hidden ? said : `${corrected.textContent}. ${said}`);
    if (!from) body.scrollTop = 0;
    // Enter opens the first result, or the first new one after loading more, and
    // not the question.
    const first = asking ? 1 : 0;
    const next = Math.max(pages.findIndex(({ index }) => index === from), 0);
    select(results.length ? first + next : asking ? 0 : -1, from > 0);
  }

  /** Returns the results in their order, but those of a page one after the other. */
  function byPage(results) {
    const pages = new Map();
    results.forEach((result, index) => {
      const page = result.document_id ?? index;
      if (!pages.has(page)) pages.set(page, []);
      pages.get(page).push({ result, index, further: pages.get(page).length > 0 });
    });
    return [...pages.values()].flat();
  }

  function resultRow(result, index, further, id) {
    const url = safeURL(result.url) ?? safeURL(result.metadata?.url);
    // The innermost heading, after its parents.
    const title = String(result.title || labels.untitled);
    const path = (Array.isArray(result.heading_path) ? result.heading_path : []).map(String).filter((heading) => heading.trim() !== "");
    if (path[0] !== title) path.unshift(title);
    const heading = path.pop();
    if (further) path.shift(); // the title of the page is above
    const outside = url && linkTo(url).target;
    const row = h(url ? "a" : "div", {
      class: further ? "row further" : "row", role: "option", id, "aria-selected": "false", tabindex: url ? -1 : null, ...(url ? linkTo(url) : null),
    },
    icon("page"),
    h("div", { class: "what" },
      h("div", { class: "title", dir: "auto" }, heading,
        [result.version, ...(result.duplicates?.versions ?? []).slice(0, 3)].filter(Boolean).map((version) => h("span", { class: "tag" }, String(version)))),
      path.length > 0 && h("div", { class: "path", dir: "auto" }, path.join(" › ")),
      h("div", { class: "snippet", dir: "auto" }, snippetNodes(result.snippet))),
    outside && icon("out"), outside && h("span", { class: "sr" }, ` (${labels.newTab})`));
    row.addEventListener("click", (event) => {
      const chosen = new CustomEvent("magpie:select", { detail: { result, query: found?.query }, bubbles: true, composed: true, cancelable: true });
      clicked(result, index);
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
