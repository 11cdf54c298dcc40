// The search panel: a combobox with a list of results.

const DELAY = 120; // ms without a key press before a search for what was typed
const SETTLE = 1000; // ms without a key press after which a query is settled; settled queries are logged
const PAGE = 10;
const COMPLETIONS = 3;
const MAX_TYPED = 200; // characters of a query that is completed
const KEPT = 30; // cached results, for going back while typing
const MAX_QUERY = 500;

/** Creates the panel. ui: {client, options, labels, say, close, ask, host} */
function searchPanel(ui) {
  const { client, options, labels, say } = ui;
  const kept = new Map();
  let timer = 0, settling = 0, controller = null;
  let found = null; // the displayed {query, version, typing, request, meant, results, total, completions}
  let active = -1, browsing = false, pointing = false; // browsing: the arrow keys are in use; pointing: the pointer is
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
  const versions = options.versions.length > 0 && h("select", { class: "version", hidden: true, "aria-label": labels.version, change: () => changed(true) });
  const isAuto = options.versions.join() === "auto", given = options.filters?.version;
  let known = isAuto ? [given].filter(Boolean) : options.versions;
  if (versions && !isAuto) offer(known.includes(given) ? given : known[0]);
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

  /** Lists the known versions, of which one is chosen. */
  function offer(chosen = "") {
    versions.replaceChildren(...known.map((version) => h("option", { value: version }, version)), h("option", { value: "" }, labels.allVersions));
    versions.value = chosen;
    versions.hidden = false;
  }

  /** Offers the versions of an answer, too, the newest first. */
  function learn(values) {
    const all = new Set([...known, ...values.map(({ value }) => String(value))]);
    if (all.size === 0 || (all.size === known.length && !versions.hidden)) return;
    const chosen = versions.hidden ? given : versions.value;
    known = [...all].sort((a, b) => b.localeCompare(a, "en", { numeric: true }));
    offer(chosen);
  }

  /** Returns the filters of the page, with the chosen version. */
  function filters() {
    if (!versions || versions.hidden) return options.filters;
    return { ...options.filters, version: versions.value || undefined };
  }

  const keyOf = (query, typing) => [typing ? "typing" : "settled", filters()?.version ?? "", query].join(" ");

  /** Returns the parameters of a search. The lowest score of the page would hide what an unfinished word finds, and versions are counted
      where all of them are searched, which costs nothing. */
  function parameters(query, typing, offset) {
    const counts = isAuto && !typing && !offset && (versions.hidden || !versions.value);
    return {
      query, collection: options.collection, limit: PAGE, offset: offset || undefined, min_score: typing ? undefined : options.minScore, distinct: "document",
      highlight: true, prefix: typing || undefined, filters: filters(), facets: counts ? ["version"] : undefined,
    };
  }

  function changed(now = false) {
    stop();
    browsing = pointing = false;
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
    // Completions come when they come, or not at all.
    const version = filters()?.version, again = found?.query === query && found.version === version;
    const completions = again ? found.completions : undefined;
    const asked = typing && !offset && !completions && query.length <= MAX_TYPED &&
      client.suggest({ q: query, limit: COMPLETIONS + 1, collection: options.collection, filters: filters() }, { signal: mine.signal })
        .then((answer) => answer.completions.filter((one) => one.toLowerCase() !== query.toLowerCase()).slice(0, COMPLETIONS)).catch(() => []);
    try {
      const answer = await client.search(parameters(query, typing, offset), { signal: mine.signal });
      if (mine !== controller) return; // another request was started
      busy(false);
      if (answer.facets) learn(answer.facets.flatMap(({ name, values }) => (name === "version" ? values : [])));
      const all = {
        results: offset ? found.results.concat(answer.results) : answer.results, total: answer.total, typing, request: offset ? found.request : answer.requestId,
        meant: typeof answer.did_you_mean === "string" ? answer.did_you_mean : "", completions, version,
      };
      const before = again && found.typing ? found : null;
      // A word that is not finished has only what begins with it; and a chosen row stays.
      const same = before && before.total === all.total && before.meant === all.meant && before.results.map((one) => one.id).join() === all.results.map((one) => one.id).join();
      if (!typing && !offset && before?.results.length && (same || browsing || all.results.length === 0)) {
        found = { ...before, typing: false, request: all.request };
        keep(keyOf(query, false), found);
        return;
      }
      keep(keyOf(query, typing), all);
      show(query, all, offset);
      const suggested = (await asked) || [];
      // Nothing moves while a row is being chosen.
      if (mine !== controller || suggested.length === 0 || browsing || pointing) return;
      all.completions = found.completions = suggested;
      list.prepend(...completionRows(suggested));
      list.hidden = false;
      input.setAttribute("aria-expanded", "true");
      if (active >= 0) select(active + suggested.length);
    } catch (error) {
      if (mine !== controller) return;
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
    const { results, total, meant, completions = [] } = answer;
    answered++;
    const options = results.map((result, index) => resultRow(result, index, `option-${answered}-${index}`));
    const asking = ui.ask && h("div", { class: "row ask", role: "option", id: `option-${answered}-ask`, "aria-selected": "false", click: () => ui.ask(query) },
      icon("ask"), h("div", { class: "title" }, fill(labels.askAbout, { query })));
    const more = results.length > 0 && results.length < total && h("div", {
      class: "row more", role: "option", id: `option-${answered}-more`, "aria-selected": "false", click: () => run(query, results.length, found.typing),
    }, labels.more);
    list.replaceChildren(...[...completionRows(completions), asking, ...options, more].filter(Boolean));
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
    // neither a completion nor the question.
    const first = completions.length + (asking ? 1 : 0);
    select(results.length ? first + Math.min(from, results.length - 1) : asking ? completions.length : -1, from > 0);
  }

  /** Returns a row for each completion, which searches for it. */
  function completionRows(completions) {
    return completions.map((query, index) => h("div", {
      class: "row completion", role: "option", id: `option-${answered}-completion-${index}`, "aria-selected": "false", "aria-label": fill(labels.complete, { query }), click: () => {
        input.value = query;
        changed(true);
        input.focus();
      },
    }, icon("search"), h("div", { class: "title", dir: "auto" }, query)));
  }

  function resultRow(result, index, id) {
    const url = safeURL(result.url) ?? safeURL(result.metadata?.url);
    // The innermost heading, after its parents.
    const title = String(result.title || labels.untitled);
    const path = (Array.isArray(result.heading_path) ? result.heading_path : []).map(String).filter((heading) => heading.trim() !== "");
    if (path[0] !== title) path.unshift(title);
    const heading = path.pop();
    const others = (result.duplicates?.versions ?? []).slice(0, 3), unnamed = result.duplicates?.count - others.length;
    const copies = fill(labels.copies, { n: unnamed });
    const outside = url && linkTo(url).target;
    const row = h(url ? "a" : "div", {
      class: "row", role: "option", id, "aria-selected": "false", tabindex: url ? -1 : null, ...(url ? linkTo(url) : null),
    },
    icon("page"),
    h("div", { class: "what" },
      h("div", { class: "title", dir: "auto" }, heading,
        [result.version, ...others].filter(Boolean).map((version) => h("span", { class: "tag" }, String(version))),
        unnamed > 0 && h("span", { class: "tag", title: copies }, h("span", { "aria-hidden": "true" }, "+" + unnamed), h("span", { class: "sr" }, copies))),
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
    pointing = true;
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
