// Conversion of untrusted text of documents and models to nodes. Unknown syntax stays
// text.

/** Returns the nodes of a snippet: escaped text with <mark>. Any other markup stays text. */
function snippetNodes(html) {
  const nodes = [];
  let marked = false;
  for (const piece of String(html ?? "").split(/(<\/?mark>)/)) {
    if (piece === "<mark>") marked = true;
    else if (piece === "</mark>") marked = false;
    else if (piece !== "") nodes.push(marked ? h("mark", null, unescapeHTML(piece)) : unescapeHTML(piece));
  }
  return nodes;
}

const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

function unescapeHTML(text) {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/gi, (whole, decimal, hex, name) => {
    if (name) return ENTITIES[name.toLowerCase()];
    const code = decimal ? Number(decimal) : parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const INDENTED = /^(?: {4}| {0,3}\t)/; // code after a blank line
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const ITEM = /^([ \t]*)([-*+]|\d{1,9}[.)])(?:[ \t]+|$)/;
const QUOTE = /^ {0,3}> ?/;
const ROW = /^\s*\|.*\|\s*$/;
const ROW_RULE = /^\s*\|(?:\s*:?-+:?\s*\|)+\s*$/;

/**
 * Splits Markdown into blocks: {kind, lines}. Lines are unchanged, so that blocks are
 * equal if their lines are.
 */
function blocksOf(text) {
  const lines = text.split(/\r\n|\r|\n/);
  const blocks = [];
  for (let i = 0; i < lines.length; ) {
    const from = i;
    const fence = FENCE.exec(lines[i])?.[1];
    let kind = "text";
    if (lines[i].trim() === "") {
      i++;
      continue;
    } else if (fence) {
      kind = "code";
      const ends = (line) => line.trim().length >= fence.length && line.trim().split(fence[0]).join("") === "";
      for (i++; i < lines.length && !ends(lines[i]); i++);
      i++;
    } else if (i > 0 && INDENTED.test(lines[i]) && lines[i - 1].trim() === "" && blocks.at(-1)?.kind !== "list") {
      kind = "indented";
      while (i < lines.length && INDENTED.test(lines[i])) i++;
    } else if (HEADING.test(lines[i])) {
      kind = "heading";
      i++;
    } else if (RULE.test(lines[i])) {
      kind = "rule";
      i++;
    } else if (QUOTE.test(lines[i])) {
      kind = "quote";
      while (i < lines.length && QUOTE.test(lines[i])) i++;
    } else if (ROW.test(lines[i])) {
      kind = "table";
      while (i < lines.length && ROW.test(lines[i])) i++;
    } else if (ITEM.test(lines[i])) {
      kind = "list";
      // A blank line ends the list unless the next one is an item or indented.
      for (i++; i < lines.length; i++) {
        const next = lines[i] === undefined || lines[i].trim() !== "" ? lines[i] : lines[i + 1];
        const within = next !== undefined && (ITEM.test(next) || /^[ \t]{2,}\S/.test(next));
        if (!within && (lines[i].trim() === "" || FENCE.test(next) || HEADING.test(next))) break;
      }
    } else {
      const ends = [FENCE, HEADING, RULE, QUOTE, ROW, ITEM];
      for (i++; i < lines.length && lines[i].trim() !== "" && !ends.some((pattern) => pattern.test(lines[i])); i++);
    }
    blocks.push({ kind, lines: lines.slice(from, Math.min(i, lines.length)) });
  }
  return blocks;
}

/** The maximum nesting of quotes and lists; deeper ones are text. */
const MAX_DEPTH = 4;

/** Returns the element of a block. cite creates the node of a citation, or null. */
function blockNode({ kind, lines }, cite, depth = 0) {
  const within = (text) => blocksOf(text).map((block) => blockNode(block, cite, depth + 1));
  if (depth > MAX_DEPTH && (kind === "quote" || kind === "list")) kind = "text";
  switch (kind) {
    case "code": {
      const fence = FENCE.exec(lines[0])[1];
      const last = lines.at(-1).trim();
      const closed = lines.length > 1 && last.length >= fence.length && last.split(fence[0]).join("") === "";
      return h("pre", { dir: "ltr", tabindex: 0 }, h("code", null, lines.slice(1, closed ? -1 : undefined).join("\n")));
    }
    case "indented":
      return h("pre", { dir: "ltr", tabindex: 0 }, h("code", null, lines.map((line) => line.replace(INDENTED, "")).join("\n")));
    case "heading": {
      const [, marks, title] = HEADING.exec(lines[0]);
      return h(marks.length < 3 ? "h4" : "h5", { dir: "auto" }, inlineNodes(title, cite));
    }
    case "rule":
      return h("hr");
    case "quote":
      return h("blockquote", { dir: "auto" }, within(lines.map((line) => line.replace(QUOTE, "")).join("\n")));
    case "table":
      return tableNode(lines, cite);
    case "list":
      return listNode(lines, within, cite);
    default:
      return h("p", { dir: "auto" }, inlineNodes(lines.map((line) => line.trim()).join("\n"), cite));
  }
}

function listNode(lines, within, cite) {
  const [, outer, first] = ITEM.exec(lines[0]);
  const items = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (item && item[1].length <= outer.length + 1) items.push([line.slice(item[0].length)]);
    else items.at(-1).push(line.replace(/^(?: {1,4}|\t)/, ""));
  }
  const start = parseInt(first, 10);
  return h(Number.isNaN(start) ? "ul" : "ol", { dir: "auto", start: start > 1 && start }, items.map((content) => {
    const nodes = within(content.join("\n"));
    // A single paragraph is the text of the item.
    const tight = nodes[0]?.localName === "p" && !content.some((line) => line.trim() === "");
    return h("li", { dir: "auto" }, tight ? [...nodes[0].childNodes] : nodes[0], nodes.slice(1));
  }));
}

function tableNode(lines, cite) {
  const cells = (line, tag) => h("tr", null, line.trim().slice(1, -1).split(/(?<!\\)\|/).map((cell) =>
    h(tag, { dir: "auto" }, inlineNodes(cell.trim().replaceAll("\\|", "|"), cite))));
  const headed = lines.length > 1 && ROW_RULE.test(lines[1]);
  return h("div", { class: "table", tabindex: 0 }, h("table", null,
    headed && h("thead", null, cells(lines[0], "th")),
    h("tbody", null, lines.slice(headed ? 2 : 0).filter((line) => !ROW_RULE.test(line)).map((line) => cells(line, "td")))));
}

/** Longer paragraphs are shown without formatting. */
const MAX_INLINE = 20000;

/** The maximum length of a function call. */
const MAX_CALL = 500;

// In this order: escape, code, image, link, citation, URL, bold, italic.
const INLINE = new RegExp([
  "\\\\([\\\\`*_{}\\[\\]()#+\\-.!|<>~])",
  "(`+)(?!`)([\\s\\S]*?[^`])\\2(?!`)",
  "!\\[([^\\[\\]]*)\\]\\([^()\\s]*(?:\\([^()\\s]*\\)[^()\\s]*)*(?:\\s+\"[^\"]*\")?\\)",
  "\\[((?:[^\\[\\]\\\\]|\\\\.)+)\\]\\(\\s*<?([^\\s()<>]*(?:\\([^\\s()<>]*\\)[^\\s()<>]*)*)>?(?:\\s+\"[^\"]*\")?\\s*\\)",
  "(?<![\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}\\p{N}_])\\[([1-9]\\d?)\\]", // after a word it is an index
  "<?(https?:\\/\\/[^\\s<>]*[^\\s<>.,;:!?'\")\\]*_`])>?",
  "(\\*\\*|__)(?=\\S)([\\s\\S]*?\\S)\\9(?!\\*)",
  "(?<![\\p{L}\\p{N}])([*_])(?=[^\\s*_])([^*_]*[^\\s*_])\\11(?![\\p{L}\\p{N}])",
].join("|"), "gu");

/** Returns the nodes of a line of Markdown. */
function inlineNodes(text, cite) {
  if (text.length > MAX_INLINE) return [text];
  const nodes = [];
  let at = 0, cited = 0; // cited is the end of the last citation
  for (const found of text.matchAll(INLINE)) {
    const [whole, escaped, , code, alternative, label, target, number, address, , bold, , italic] = found;
    let node = whole;
    if (escaped) node = escaped;
    else if (code !== undefined) node = h("code", { dir: "ltr" }, code.replace(/^ (.*) $/s, "$1"));
    else if (alternative !== undefined) node = alternative; // images would send requests to other sites
    else if (label !== undefined) {
      const url = safeURL(target);
      node = url ? h("a", linkTo(url), inlineNodes(label, () => null)) : unescapeMarks(label);
    } else if (number) {
      const index = text[found.index - 1] === "]" && cited !== found.index || endsCall(text, found.index); // such as the second index of a[0][1]
      const mark = index ? null : cite(Number(number));
      if (!index) cited = found.index + whole.length;
      node = mark ?? whole;
    } else if (address) {
      const url = safeURL(address);
      node = url ? h("a", linkTo(url), address) : whole;
    } else if (bold) node = h("strong", null, inlineNodes(bold, cite));
    else if (italic) node = h("em", null, inlineNodes(italic, cite));
    nodes.push(text.slice(at, found.index), node);
    at = found.index + whole.length;
  }
  nodes.push(text.slice(at));
  return nodes.filter((node) => node !== "");
}

/** Reports whether a function call ends at a position of a text, as in f(x)[1] but not in (a remark)[1]. */
function endsCall(text, end) {
  if (text[end - 1] !== ")") return false;
  for (let i = end - 1, open = 0; i >= 0 && i > end - MAX_CALL && text[i] !== "\n"; i--) {
    if (text[i] === ")") open++;
    else if (text[i] === "(" && --open === 0) return /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{N}_]$/u.test(text.slice(Math.max(0, i - 2), i));
  }
  return false;
}

function unescapeMarks(text) {
  return text.replace(/\\([\\`*_{}[\]()#+\-.!|<>~])/g, "$1");
}

/**
 * Shows growing Markdown. Unchanged blocks keep their nodes, so that the selection
 * and the scroll position stay.
 */
function growingText(element) {
  let shown = [];
  return (text, cite, anew = false) => {
    const blocks = blocksOf(text);
    const keys = blocks.map((block) => block.kind + "\n" + block.lines.join("\n"));
    let same = 0;
    while (!anew && same < shown.length && keys[same] === shown[same]) same++;
    while (element.childNodes.length > same) element.lastChild.remove();
    element.append(...blocks.slice(same).map((block) => blockNode(block, cite)));
    shown = keys;
  };
}
