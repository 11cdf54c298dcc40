package asciidoc

import (
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
	"github.com/magpie-search/magpie/internal/safetext"
)

// attributeList holds the attributes from the lines before a block.
type attributeList struct {
	style, id, title string
	positional       []string
	named            map[string]string
	options          string
}

func (a *attributeList) at(i int) string {
	if i < len(a.positional) {
		return a.positional[i]
	}
	return ""
}

func (a *attributeList) has(option string) bool {
	for name := range strings.FieldsFuncSeq(a.options+","+a.named["options"]+","+a.named["opts"], func(r rune) bool { return r == ',' || r == ' ' }) {
		if name == option {
			return true
		}
	}
	return false
}

// add adds a line such as [source,go,linenums] or [quote#id.role%option,author,title=T].
func (a *attributeList) add(text string) {
	parts := splitAttributes(text)
	if first := parts[0]; first != "" && strings.IndexByte("#.%", first[0]) < 0 && !strings.Contains(first, "=") {
		a.positional = nil // those of a previous line
	}
	for i, part := range parts {
		name, value, isNamed := strings.Cut(part, "=")
		if isNamed && name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_ ") == "" {
			if a.named == nil {
				a.named = make(map[string]string)
			}
			a.named[strings.TrimSpace(name)] = unquote(value)
			continue
		}
		part = unquote(part)
		if i == 0 {
			part = a.shorthand(part)
		}
		a.positional = append(a.positional, part)
	}
	if id := a.named["id"]; id != "" {
		a.id = id
	}
	if title := a.named["title"]; title != "" {
		a.title = title
	}
}

// shorthand parses style#id.role%option and returns the style.
func (a *attributeList) shorthand(text string) string {
	end := strings.IndexAny(text, "#.%")
	if end < 0 {
		a.style = text
		return text
	}
	style, rest := text[:end], text[end:]
	if style != "" {
		a.style = style
	}
	for rest != "" {
		mark := rest[0]
		end := strings.IndexAny(rest[1:], "#.%")
		if end < 0 {
			end = len(rest) - 1
		}
		switch value := rest[1 : 1+end]; mark {
		case '#':
			a.id = value
		case '%':
			a.options += "," + value
		}
		rest = rest[1+end:]
	}
	return style
}

// splitAttributes splits a list at its commas, except those in quotes.
func splitAttributes(text string) []string {
	var parts []string
	begin := 0
	var quote byte
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && strings.TrimSpace(text[begin:i]) == "" || c == '"' && i > 0 && text[i-1] == '=':
			quote = c
		case c == ',' && len(parts) < 100:
			parts = append(parts, strings.TrimSpace(text[begin:i]))
			begin = i + 1
		}
	}
	return append(parts, strings.TrimSpace(text[begin:]))
}

func unquote(text string) string {
	text = strings.TrimSpace(text)
	if len(text) >= 2 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0] {
		return text[1 : len(text)-1]
	}
	return text
}

// body collects the blocks of a sequence of elements.
type body struct {
	p           *parser
	depth       int
	hasSections bool
	isItem      bool // a list item or a continuation ends a paragraph
	next        attributeList
	blocks      []document.Block
}

// readBody reads lines as a sequence of blocks.
func (p *parser) readBody(lines []string, depth int, sections bool) []document.Block {
	if depth > compose.MaxNesting {
		return []document.Block{{Kind: document.Paragraph, Text: p.inline(strings.TrimSpace(strings.Join(lines, "\n")))}}
	}
	b := body{p: p, depth: depth, hasSections: sections}
	for i := 0; i < len(lines) && p.ok(); {
		if strings.TrimSpace(lines[i]) == "" {
			i++
			continue
		}
		i += max(b.element(lines[i:]), 1)
	}
	return b.blocks
}

func (b *body) nested(lines []string) []document.Block {
	return b.p.readBody(lines, b.depth+1, false)
}

func (b *body) emit(block document.Block) {
	if !block.Blank() {
		b.blocks = append(b.blocks, block)
	}
}

func (b *body) paragraph(text string) {
	b.emit(document.Block{Kind: document.Paragraph, Text: strings.TrimSpace(text)})
}

func (b *body) emitAll(blocks []document.Block) {
	for i := range blocks {
		b.emit(blocks[i])
	}
}

// takeAttributes returns the attributes for the block that begins now.
func (b *body) takeAttributes() attributeList {
	a := b.next
	b.next = attributeList{}
	return a
}

// element reads the first block of the lines, of which the first is not blank. It returns the number of its lines.
func (b *body) element(lines []string) int {
	line := strings.TrimRight(lines[0], " \t")
	if n := b.blockMetadata(lines, line); n > 0 {
		return n
	}
	if n := b.title(lines, line); n > 0 {
		return n
	}
	if kind := delimiterOf(line); kind != 0 {
		n := delimitedLength(lines)
		inner := lines[1:n]
		if n > 1 && strings.TrimRight(lines[n-1], " \t") == closingDelimiter(line) {
			inner = lines[1 : n-1]
		}
		b.delimited(kind, line, inner, b.takeAttributes())
		return n
	}
	if b.macro(line) {
		return 1
	}
	switch line {
	case "'''", "<<<", "---", "***", "- - -", "* * *", "+":
		return 1
	}
	if isListItem(line) {
		a := b.takeAttributes()
		b.caption(a)
		blocks, n := b.list(lines, nil, b.depth)
		b.emitAll(blocks)
		return n
	}
	return b.textBlock(lines)
}

// blockMetadata reads a line about the next block, a comment or an attribute entry. It returns the number of lines, or
// 0 for other lines.
func (b *body) blockMetadata(lines []string, line string) int {
	switch {
	case isLineComment(line):
		return 1
	case isDelimiter(line, '/'):
		return delimitedLength(lines)
	case line[0] == ':':
		return b.p.attribute(lines)
	case strings.HasPrefix(line, "[[") && strings.HasSuffix(line, "]]") && !strings.HasPrefix(line, "[[["):
		b.next.id, _, _ = strings.Cut(line[2:len(line)-2], ",")
		return 1
	case isAttributeLine(line):
		b.next.add(b.p.expand(line[1 : len(line)-1]))
		return 1
	case len(line) > 1 && line[0] == '.' && line[1] != '.' && line[1] != ' ' && line[1] != '\t':
		b.next.title = line[1:]
		return 1
	}
	return 0
}

// isAttributeLine reports whether a line is a list of attributes in brackets.
func isAttributeLine(line string) bool {
	if len(line) < 2 || line[0] != '[' || line[len(line)-1] != ']' {
		return false
	}
	c := line[1]
	return c == ']' || ascii.IsAlphanumeric(c) || strings.IndexByte("{,.#\"'%*", c) >= 0 || c >= 0x80
}

// title reads a section title. It returns the number of lines, or 0 if there is none.
func (b *body) title(lines []string, line string) int {
	level, text := cutTitle(line)
	used := 1
	if level == 0 && len(lines) > 1 && b.hasSections {
		if level = underlineLevel(line, lines[1]); level > 0 {
			text, used = line, 2
		}
	}
	if level == 0 || !b.hasSections && b.next.style != "discrete" && b.next.style != "float" && line[0] == '#' {
		return 0
	}
	b.heading(level, text, b.takeAttributes())
	return used
}

func (b *body) heading(level int, text string, a attributeList) {
	text, id := cutAnchor(text)
	if id == "" {
		id = a.id
	}
	if text = b.p.plain(text); text == "" {
		return
	}
	if len(text) > compose.MaxHeading {
		b.paragraph(text)
		return
	}
	if id == "" {
		id = b.p.autoID(text)
	}
	b.emit(document.Block{Kind: document.Heading, Level: min(level, 6), Text: text, Anchor: b.p.anchors.Take(id, text)})
}

// autoID returns the id of a section by the attributes idprefix and idseparator, or "" if they are not set.
func (p *parser) autoID(text string) string {
	prefix, hasPrefix := p.attributes["idprefix"]
	separator, hasSeparator := p.attributes["idseparator"]
	if !hasPrefix && !hasSeparator {
		return ""
	}
	if !hasPrefix {
		prefix = "_"
	}
	if !hasSeparator {
		separator = "_"
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ' ' || r == '.' || r == '-' || r == '_' })
	return safetext.TruncateBytes(prefix+strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && !isWordRune(r) && !strings.ContainsRune(separator, r) {
			return -1
		}
		return r
	}, strings.Join(words, separator)), 200)

}

// underlineLevel returns the level of a title that is underlined over its whole length, or 0.
func underlineLevel(line, below string) int {
	below = strings.TrimRight(below, " \t")
	line = strings.TrimRight(line, " \t")
	if len(below) < 2 || line == "" || line[0] == ' ' || strings.Trim(below, below[:1]) != "" || delimiterOf(line) != 0 {
		return 0
	}
	if n := utf8.RuneCountInString(line); len(below) < n-1 || len(below) > n+1 || !strings.ContainsFunc(line, isWordRune) {
		return 0
	}
	return strings.IndexByte("=-~^+", below[0]) + 1
}

func isWordRune(r rune) bool { return r >= 0x80 || r < 0x80 && ascii.IsAlphanumeric(byte(r)) } //nolint:gosec // below 0x80

// caption emits the title of a block as a paragraph.
func (b *body) caption(a attributeList) {
	if a.title != "" {
		b.paragraph(b.p.inline(a.title))
	}
}

// macro reads a block macro such as image::plan.png[Plan]. It reports whether the line is one.
func (b *body) macro(line string) bool {
	name, rest, found := strings.Cut(line, "::")
	if !found || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" || !strings.HasSuffix(rest, "]") {
		return false
	}
	open := strings.IndexByte(rest, '[')
	if open < 0 || rest[0] == ' ' {
		return false
	}
	a := b.takeAttributes()
	if name == "image" {
		var own attributeList
		own.add(b.p.expand(rest[open+1 : len(rest)-1]))
		alt := own.at(0)
		if named := own.named["alt"]; named != "" {
			alt = named
		}
		if alt != a.title {
			b.paragraph(inline.Link(b.p.plain(alt), own.named["link"]))
		}
	}
	b.caption(a)
	return true
}

// textBlock reads a paragraph, or a literal block if it is indented. It returns the number of lines.
func (b *body) textBlock(lines []string) int {
	n := 0
	for n < len(lines) {
		line := strings.TrimRight(lines[n], " \t")
		if line == "" || n > 0 && (delimiterOf(line) != 0 || isAttributeLine(line) && !strings.Contains(line, "](")) ||
			b.isItem && (line == "+" || n > 0 && isListItem(line)) {
			break
		}
		n++
	}
	n = max(n, 1)
	a := b.takeAttributes()
	if (lines[0][0] == ' ' || lines[0][0] == '\t') && (a.style == "" || a.style == "literal") {
		b.caption(a)
		b.emit(compose.CodeBlock("", expandTabs(lines[:n])))
		return n
	}
	kept := make([]string, 0, n)
	for _, line := range lines[:n] {
		if !isLineComment(line) {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	text := strings.Join(kept, "\n")
	if label, rest, found := strings.Cut(text, ": "); found && a.style == "" {
		if name := compose.AdmonitionLabel(label); name != "" {
			b.admonition(name, a, []document.Block{{Kind: document.Paragraph, Text: b.p.inline(rest)}})
			return n
		}
	}
	b.styledParagraph(a, lines[:n], text)
	return n
}

func expandTabs(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = compose.ExpandTabs(line)
	}
	return out
}

// styledParagraph emits a paragraph in the style of its attributes.
func (b *body) styledParagraph(a attributeList, lines []string, text string) {
	switch a.style {
	case "source", "listing", "literal", "console", "terminal":
		b.code(a, lines)
	case "quote", "verse", "example", "sidebar", "abstract", "partintro", "open", "pass", "stem", "latexmath", "asciimath", "comment":
		b.styledBlock(a, lines)
	default:
		if name := compose.AdmonitionLabel(a.style); name != "" {
			b.admonition(name, a, []document.Block{{Kind: document.Paragraph, Text: b.p.inline(text)}})
			return
		}
		b.caption(a)
		b.paragraph(b.p.inline(text))
	}
}

// admonition emits an admonition as a quotation with a label.
func (b *body) admonition(label string, a attributeList, blocks []document.Block) {
	if a.title != "" {
		label += ": " + b.p.plain(a.title)
	}
	compose.Quote(compose.Titled(label, blocks), b.emit)
}

// code emits a block of code. Attribute references are replaced if the block asks for it.
func (b *body) code(a attributeList, lines []string) {
	b.caption(a)
	language := a.at(1)
	if named := a.named["language"]; named != "" {
		language = named
	}
	if language == "" && a.style == "source" {
		language = b.p.attributes["source-language"]
	}
	block := compose.CodeBlock(inline.FenceLanguage(language), expandTabs(lines))
	if subs := a.named["subs"]; strings.Contains(subs, "attributes") || subs == "normal" {
		block.Text = b.p.expand(block.Text)
	}
	b.emit(block)
}
