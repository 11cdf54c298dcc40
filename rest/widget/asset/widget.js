// The widget: a button, a dialog with the panels, and a hotkey. The attributes of
// its script element configure it.

const IDS = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const RTL = /^(?:ar|arc|ckb|dv|fa|he|ks|ps|sd|syr|ug|ur|yi)\b/i;
const MAC = /Mac|iP(?:hone|ad|od)/.test(globalThis.navigator?.platform ?? "");
const MODES = ["search", "chat"];
const FILTERS = ["section", "version", "tags", "doc_types", "language", "date_after", "date_before"];

/** Returns the language of the widget. */
function languageOf(script) {
  return script.dataset.lang || document.documentElement.lang || navigator.language || "en";
}

/** Reads the attributes. Invalid ones are logged to the console and ignored. builtin are the labels of the language. */
function readOptions(script, builtin, isFirst) {
  const data = script.dataset;
  const wrong = (name, why) => console.warn(`Magpie: data-${name} ${why}`);
  const object = (name) => {
    if (!data[name]) return null;
    try {
      const value = JSON.parse(data[name]);
      if (value && typeof value === "object" && !Array.isArray(value)) return value;
    } catch (_) {
      // the message is the same
    }
    wrong(name, "is not a JSON object");
    return null;
  };
  const oneOf = (name, value, values) => {
    if (value === undefined || values.includes(value)) return value ?? values[0];
    wrong(name, "must be one of " + values.join(", "));
    return values[0];
  };
  const language = languageOf(script);
  const labels = labelsFor(builtin, object("labels"));
  let filters = object("filters");
  const unknown = Object.keys(filters ?? {}).find((name) => !FILTERS.includes(name));
  if (unknown !== undefined) {
    wrong("filters", "may have " + FILTERS.join(", "));
    filters = null;
  }
  if (data.title) labels.title = data.title;
  if (data.placeholder) labels.placeholder = data.placeholder;
  const isCollection = IDS.test(data.collection ?? "");
  if (data.collection && !isCollection) wrong("collection", "is not an id");
  const accent = data.accent ? parseColor(data.accent) : null;
  if (data.accent && !accent) wrong("accent", "must be a colour like #0a7d5a");
  const minScore = data.minScore ? Number(data.minScore) : undefined;
  if (minScore !== undefined && !(minScore >= 0 && minScore <= 1)) wrong("min-score", "must be from 0 to 1");
  const mode = oneOf("mode", data.mode, ["both", ...MODES]);
  return {
    key: data.key, titled: Boolean(data.title), labels, language, accent, placeholder: labels.placeholder,
    baseUrl: baseOf(script), name: data.name || "",
    filters: filters ?? undefined,
    versions: (data.versions ?? "").split(",").map((version) => version.trim()).filter(Boolean),
    collection: isCollection ? data.collection : undefined,
    minScore: minScore >= 0 && minScore <= 1 ? minScore : undefined,
    theme: oneOf("theme", data.theme, ["auto", "light", "dark"]),
    button: oneOf("button", data.button, isFirst ? ["true", "false"] : ["false", "true"]) === "true",
    hotkeys: (data.hotkey ?? (isFirst ? "mod+k" : "")).split(",").map(readHotkey).filter(Boolean),
    modes: mode === "both" ? MODES : [mode],
    direction: RTL.test(language) ? "rtl" : "ltr",
  };
}

/** Returns the address of Magpie. */
function baseOf(script) {
  return new URL(script.dataset.baseUrl || ".", script.src || location.href).href;
}

/** Parses a hotkey such as "mod+k"; mod is Command on Apple systems and Ctrl elsewhere. */
function readHotkey(text) {
  const parts = text.trim().toLowerCase().split("+");
  const key = parts.pop();
  if (!key || key === "none") return null;
  const has = (name) => parts.includes(name);
  return { key, ctrl: has("ctrl") || (has("mod") && !MAC), meta: has("meta") || has("cmd") || (has("mod") && MAC), alt: has("alt"), shift: has("shift") };
}

function pressed(hotkey, event) {
  // event.code identifies the key on keyboards without Latin letters. Shift is ignored for other characters than letters.
  const key = event.key.toLowerCase() === hotkey.key || (/^[a-z]$/.test(hotkey.key) && event.code === "Key" + hotkey.key.toUpperCase());
  return key && event.ctrlKey === hotkey.ctrl && event.metaKey === hotkey.meta && event.altKey === hotkey.alt &&
    (event.shiftKey === hotkey.shift || !/^[a-z]$/.test(hotkey.key));
}

function shownHotkey({ key, ctrl, meta, alt, shift }) {
  const names = MAC ? [ctrl && "⌃", alt && "⌥", shift && "⇧", meta && "⌘"] : [ctrl && "Ctrl", alt && "Alt", shift && "Shift", meta && "Meta"];
  return [...names.filter(Boolean), key.length === 1 ? key.toUpperCase() : key].join(MAC ? "" : " ");
}

function isEditable(element) {
  return element instanceof HTMLElement && (element.isContentEditable || /^(?:input|textarea|select)$/.test(element.localName));
}

/** Creates the widget and returns the API of window.MagpieWidget. */
function widget(options) {
  const { labels, modes } = options;
  const client = new Magpie({ baseUrl: options.baseUrl, key: options.key, maxRetryWait: 2 });
  const host = document.createElement("magpie-widget"), parent = options.parent ?? document.body;
  const shadow = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE + (options.accent ? accentRules(options.accent) : ""));
  shadow.adoptedStyleSheets = [sheet];

  // The live region, which must exist before its text.
  const status = h("div", { class: "sr", role: "status", "aria-live": "polite", "aria-atomic": "true" });
  const say = (text) => {
    status.textContent = status.textContent === text && text ? text + "\u00a0" : text;
  };

  const about = { client, options, labels, say, host, close };
  const panels = {};
  if (modes.includes("chat")) panels.chat = chatPanel(about);
  if (modes.includes("search")) panels.search = searchPanel({ ...about, ask: panels.chat && askInstead });
  let mode = modes[0], opener = null;

  const tabs = modes.length < 2 ? null : h("div", { class: "tabs", role: "tablist", "aria-label": labels.title, keydown: turn }, modes.map((name) =>
    h("button", { type: "button", role: "tab", id: "tab-" + name, "aria-controls": "panel-" + name, click: () => {
      show(name);
      panels[name].focus();
    } }, icon(name === "chat" ? "ask" : "search"), name === "chat" ? labels.ask : labels.search)));
  const closer = h("button", { type: "button", class: "quiet", "aria-label": labels.close, click: () => close() }, icon("close"));
  const frame = h("div", { class: "frame" },
    h("header", null, h("h2", { id: "title", class: tabs && !options.titled ? "sr" : null }, labels.title), tabs, closer), modes.map((name) => panels[name].element), status);
  const dialog = h("dialog", { "aria-labelledby": "title", keydown: keys, close: closed, click: (event) => event.target === dialog && close() }, frame);
  const hotkey = options.hotkeys[0];
  const launch = options.button && h("button", {
    type: "button", class: "launch", "aria-haspopup": "dialog", "aria-keyshortcuts": hotkey && ariaHotkey(hotkey), click: () => open(),
  }, icon(modes[0] === "chat" ? "ask" : "search"), h("span", null, modes[0] === "chat" ? labels.ask : labels.open),
  hotkey && h("kbd", { "aria-hidden": "true" }, shownHotkey(hotkey)));
  const root = h("div", { class: "root", dir: options.direction, lang: options.language }, launch, dialog);
  shadow.append(root);
  if (tabs) {
    for (const name of modes) {
      panels[name].element.setAttribute("role", "tabpanel");
      panels[name].element.setAttribute("aria-labelledby", "tab-" + name);
    }
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paint = () => {
    const isDark = options.theme === "dark" || (options.theme === "auto" && dark.matches);
    root.classList.toggle("dark", isDark);
    root.classList.toggle("light", !isDark);
  };
  dark.addEventListener("change", paint, { signal: options.signal });
  paint();
  show(mode);

  function ariaHotkey({ key, ctrl, meta, alt, shift }) {
    return [ctrl && "Control", meta && "Meta", alt && "Alt", shift && "Shift", key].filter(Boolean).join("+");
  }

  function show(name) {
    mode = name;
    for (const one of modes) {
      panels[one].element.hidden = one !== name;
      const tab = tabs?.children[modes.indexOf(one)];
      tab?.setAttribute("aria-selected", String(one === name));
      tab?.setAttribute("tabindex", one === name ? "0" : "-1");
    }
  }

  /** Switches tabs by arrow keys. */
  function turn(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(modes[(modes.indexOf(mode) + step + modes.length) % modes.length]);
    tabs.children[modes.indexOf(mode)].focus();
  }

  function askInstead(question) {
    show("chat");
    panels.chat.focus();
    panels.chat.ask(question);
  }

  /** Opens the dialog, optionally with a mode and a query to search or ask. */
  function open({ mode: wanted, query } = {}) {
    if (!host.isConnected) parent.append(host);
    if (modes.includes(wanted)) show(wanted);
    if (!dialog.open) {
      opener ??= deepActive();
      dialog.showModal();
      panels.search?.resume();
    }
    panels[mode].focus();
    if (typeof query === "string" && query.trim() !== "") {
      if (mode === "chat") panels.chat.ask(query.trim());
      else panels.search.fill(query);
    }
  }

  function close() {
    if (!dialog.open) return;
    dialog.close();
    closed();
  }

  /** Cleans up after closing: immediately after close(), or on the close event if the browser closed the dialog.
      The event is asynchronous, so the focus may have moved or the dialog may be open again. */
  function closed() {
    if (dialog.open) return;
    for (const panel of Object.values(panels)) panel.stop();
    say("");
    const back = opener;
    opener = null;
    if (back?.isConnected && back !== document.body) back.focus();
  }

  function deepActive() {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    return element;
  }

  function keys(event) {
    // Keep key presses from the shortcuts of the page.
    event.stopPropagation();
    if (event.key === "Tab") return trap(event);
    if (event.key === "Escape" && !event.isComposing) {
      event.preventDefault();
      return close();
    }
    if (options.hotkeys.some((one) => (one.ctrl || one.meta || one.alt) && pressed(one, event))) {
      event.preventDefault();
      close();
    }
    return undefined;
  }

  /** Keeps the focus in the dialog. */
  function trap(event) {
    const stops = [...dialog.querySelectorAll("button, input, select, textarea, a[href], [tabindex]")].filter((element) =>
      element.tabIndex >= 0 && !element.disabled && element.offsetParent !== null);
    const at = stops.indexOf(shadow.activeElement);
    const edge = event.shiftKey ? 0 : stops.length - 1;
    if (stops.length === 0 || (at !== edge && at >= 0)) return;
    event.preventDefault();
    stops[event.shiftKey ? stops.length - 1 : 0].focus();
  }

  const listening = { signal: options.signal };
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.repeat || dialog.open) return;
    const editing = isEditable(event.composedPath()[0]);
    if (options.hotkeys.some((one) => pressed(one, event) && (one.ctrl || one.meta || one.alt || !editing))) {
      event.preventDefault();
      open();
    }
  }, listening);
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    const trigger = event.composedPath().find((node) => node instanceof Element && node.hasAttribute("data-magpie-open"));
    if (!trigger || (trigger.getAttribute("data-magpie-widget") || (window.MagpieWidget?.name ?? "")) !== options.name) return;
    event.preventDefault();
    opener = trigger;
    open({ mode: trigger.getAttribute("data-magpie-open") });
  }, listening);
  parent.append(host);
  return { name: options.name, open, close, element: host };
}

/** Creates the widget of a script element. The first one of a page is window.MagpieWidget, whose widgets are all of them. */
async function start() {
  const script = document.currentScript ?? document.querySelector("script[data-key][src*='widget.js']");
  if (!script) return;
  if (!script.dataset.key) {
    console.error("Magpie: the script element has no data-key");
    return;
  }
  const labels = await catalogue(languageOf(script), baseOf(script));
  if (!document.body) await new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }));
  const all = window.MagpieWidget?.widgets;
  const options = readOptions(script, labels, !all);
  // A page that loads a script again has one widget of a name.
  if (all?.some((one) => one.name === options.name)) return;
  const made = widget(options);
  if (all) all.push(Object.freeze(made));
  else {
    const widgets = [];
    window.MagpieWidget = Object.freeze({ ...made, widgets });
    widgets.push(window.MagpieWidget);
  }
}

/** Creates a widget within an element, for bundled pages. Options are those of the script element, such as minScore. */
async function mount(element, { key, baseUrl, ...given }) {
  if (!key || !baseUrl) throw new TypeError("mount needs key and baseUrl");
  const script = document.createElement("script");
  for (const [name, value] of Object.entries({ ...given, key, baseUrl })) {
    if (value != null) script.dataset[name] = typeof value === "object" && !Array.isArray(value) && !(value instanceof URL) ? JSON.stringify(value) : String(value);
  }
  const labels = await catalogue(languageOf(script), baseOf(script));
  const listening = new AbortController();
  const first = !document.querySelector("magpie-widget"); // the others have no button and no keys unless they ask for them
  const made = widget({ ...readOptions(script, labels, first), parent: element, signal: listening.signal });
  return Object.freeze({ ...made, unmount() {
    made.close();
    listening.abort();
    made.element.remove();
  } });
}

start();
