// DOM nodes. Texts become text nodes; no function parses HTML.

/** Creates an element with attributes (functions are listeners; false and null are omitted) and children. */
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

const ICONS = {
  search: ["M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13z", "m20 20-4.9-4.9"],
  ask: ["M12 4c.6 4.6 2.9 7 7.5 7.5C14.9 12 12.6 14.4 12 19c-.6-4.6-2.9-7-7.5-7.5C9.1 11 11.4 8.6 12 4z", "M18.5 16.5c.2 1.6 1 2.3 2.5 2.5-1.5.2-2.3 1-2.5 2.5-.2-1.5-1-2.3-2.5-2.5 1.5-.2 2.3-1 2.5-2.5z"],
  close: ["M6 6l12 12", "M18 6 6 18"],
  send: ["M12 19V5", "m6 11 6-6 6 6"],
  stop: ["M7 7h10v10H7z"],
  page: ["M7 3.5h7l4 4V20.5H7z", "M13.5 4v4h4", "M10 12.5h5", "M10 16h5"],
  out: ["M9 6h9v9", "M18 6 7 17"],
  restart: ["M5 12a7 7 0 1 1 2.2 5.1", "M4.5 20v-4h4"],
  up: ["M7.5 11v8.5H4V11z", "M7.5 11 11 4c1.7 0 2.6 1 2.3 2.6L12.8 9.5H18c1.4 0 2.2 1.1 1.9 2.4l-1.3 6C18.3 19 17.5 19.5 16.5 19.5h-9"],
  down: ["M7.5 13V4.5H4V13z", "m7.5 13 3.5 7c1.7 0 2.600-1 2.300-2.600l-.5-2.900H18c1.4 0 2.2-1.1 1.9-2.4l-1.3-6C18.3 5 17.5 4.5 16.5 4.5h-9"],
  warn: ["M12 4.5 21 19.5H3z", "M12 10.5v4", "M12 17v.1"],
};

/** Creates an icon, which is hidden from assistive technology. */
function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", "icon icon-" + name);
  for (const d of ICONS[name]) {
    const path = document.createElementNS(space, "path");
    path.setAttribute("d", d);
    svg.append(path);
  }
  return svg;
}

/** Returns a random id (UUID version 4). crypto.randomUUID exists on https only. */
function newID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  return [...bytes].map((byte, i) => ([4, 6, 8, 10].includes(i) ? "-" : "") + byte.toString(16).padStart(2, "0")).join("");
}

/** Returns a safe URL, or null: only http and https, never javascript: and the like. */
function safeURL(address) {
  if (typeof address !== "string") return null;
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch (_) {
    return null;
  }
}

/** Returns the attributes of a link to a safe URL. Links to other sites open a new tab. */
function linkTo(url) {
  const here = new URL(url).origin === location.origin;
  return { href: url, rel: "noopener noreferrer", target: here ? null : "_blank" };
}
