package asciidoc

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/htmldoc"
)

// delimiterOf returns the character that identifies the kind of a block delimiter, or 0 for other lines. For a table it
// is the separator.
func delimiterOf(line string) byte {
	if len(line) < 2 {
		return 0
	}
	switch c := line[0]; {
	case line == "--":
		return '~' // an open block
	case strings.HasPrefix(line, "```"):
		return '`'
	case len(line) >= 4 && strings.IndexByte("-.=*_+/", c) >= 0 && strings.Trim(line, line[:1]) == "":
		return c
	case len(line) >= 4 && strings.IndexByte("|,:!", c) >= 0 && strings.Trim(line[1:], "=") == "" && line[1] == '=':
		return c
	}
	return 0
}

func isDelimiter(line string, kind byte) bool {
	line = strings.TrimRight(line, " \t")
	return line != "" && line[0] == kind && delimiterOf(line) == kind
}

// closingDelimiter returns the line that closes a block.
func closingDelimiter(line string) string {
	if strings.HasPrefix(line, "```") {
		return line[:len(line)-len(strings.TrimLeft(line, "`"))]
	}
	return line
}

// delimitedLength returns the number of lines of a block, with its delimiters. A block that is not closed extends to
// the end.
func delimitedLength(lines []string) int {
	closing := closingDelimiter(strings.TrimRight(lines[0], " \t"))
	for i, line := range lines[1:] {
		if len(line) >= len(closing) && strings.TrimRight(line, " \t") == closing {
			return i + 2
		}
	}
	return len(lines)
}

// delimited reads a block between delimiters.
func (b *body) delimited(kind byte, line string, lines []string, a attributeList) {
	switch kind {
	case '-', '.':
		if overridesCode(a.style) {
			b.styledBlock(a, lines)
			return
		}
		b.code(a, lines)
	case '`':
		if language := strings.TrimLeft(line, "`"); language != "" {
			a.positional = []string{"source", language}
		}
		b.code(a, lines)
	case '|', ',', ':', '!':
		b.table(kind, lines, a)
	default:
		if a.style == "" || !isBlockStyle(a.style) && compose.AdmonitionLabel(a.style) == "" {
			a.style = map[byte]string{'=': "example", '*': "sidebar", '_': "quote", '+': "pass", '~': "open", '/': "comment"}[kind]
			if a.at(0) == "" && kind == '_' {
				a.style = "quote"
			}
		}
		b.styledBlock(a, lines)
	}
}

// overridesCode reports whether a style makes a block between hyphens or dots something else than code.
func overridesCode(style string) bool {
	switch style {
	case "verse", "quote", "stem", "latexmath", "asciimath", "pass", "comment":
		return true
	}
	return false
}

func isBlockStyle(style string) bool {
	switch style {
	case "source", "listing", "literal", "quote", "verse", "example", "sidebar", "abstract", "partintro", "open", "pass", "stem", "latexmath",
		"asciimath", "comment", "plantuml", "mermaid", "graphviz", "ditaa", "blockdiag", "seqdiag", "nomnoml", "vega", "wavedrom", "tabs", "console",
		"terminal", "d2", "excalidraw", "bytefield":
		return true
	}
	return false
}

// styledBlock emits the lines of a block by its style.
func (b *body) styledBlock(a attributeList, lines []string) {
	p := b.p
	if name := compose.AdmonitionLabel(a.style); name != "" {
		b.admonition(name, a, b.nested(lines))
		return
	}
	switch a.style {
	case "comment":
	case "pass":
		text := strings.Join(lines, "\n")
		if strings.Contains(a.named["subs"], "attributes") {
			text = p.expand(text)
		}
		b.emitAll(htmldoc.Fragment(p.ctx, text, p.anchors))
	case "stem", "latexmath", "asciimath":
		b.caption(a)
		b.paragraph("$$\n" + strings.Trim(strings.ReplaceAll(strings.Join(lines, "\n"), "\n\n", "\n"), "\n") + "\n$$")
	case "verse":
		b.quote(a, []document.Block{{Kind: document.Paragraph, Text: p.inline(strings.Join(compose.TrimBlankLines(lines), "\n"))}})
	case "quote":
		b.quote(a, b.nested(lines))
	case "sidebar":
		compose.Quote(compose.Titled(p.plain(a.title), b.nested(lines)), b.emit)
	case "source", "listing", "literal", "console", "terminal":
		b.code(a, lines)
	case "example", "open", "abstract", "partintro", "tabs":
		if title := p.plain(a.title); title != "" {
			b.paragraph("**" + title + "**")
		}
		b.emitAll(b.nested(lines))
	default: // a diagram
		b.caption(a)
		b.emit(compose.CodeBlock(a.style, lines))
	}
}

// quote emits a quotation with its author and source.
func (b *body) quote(a attributeList, blocks []document.Block) {
	author, source := a.at(1), a.at(2)
	if named := a.named["attribution"]; named != "" {
		author = named
	}
	if named := a.named["citetitle"]; named != "" {
		source = named
	}
	if author != "" && source != "" {
		author += ", "
	}
	if author += source; author != "" {
		blocks = append(blocks, document.Block{Kind: document.Paragraph, Text: "-- " + b.p.inline(author)})
	}
	b.caption(a)
	compose.Quote(blocks, b.emit)
}
