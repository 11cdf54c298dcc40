package markdown

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
	"github.com/magpie-search/magpie/internal/ingest/parse/restructured"
)

// directive reads a block of code as a directive of MyST, whose name is in braces: ```{note} Title. It reports whether
// the block is one; ```{python} is code of a notebook.
func (w *walker) directive(info, content string, depth int) bool {
	info = strings.TrimSpace(info)
	if !strings.HasPrefix(info, "{") {
		return false
	}
	name, argument, found := strings.Cut(info[1:], "}")
	if !found || strings.ContainsAny(name, " ,=") {
		return false
	}
	argument = strings.TrimSpace(argument)
	options, body := cutOptions(content)
	switch name = strings.ToLower(name); name {
	case "code-block", "code", "sourcecode", "code-cell", "literal":
		w.emit(document.Block{Kind: document.Code, Language: inline.FenceLanguage(argument), Text: strings.Trim(body, "\n")})
	case "toctree", "contents", "include", "literalinclude", "index", "bibliography", "tableofcontents", "autodoc", "automodule", "mdinclude":
	case "math":
		w.emit(document.Block{Kind: document.Paragraph, Text: "$$\n" + strings.TrimSpace(argument+"\n"+body) + "\n$$"})
	case "figure", "image":
		w.emit(document.Block{Kind: document.Paragraph, Text: options["alt"]})
		w.emitAll(w.nestedText(body, depth))
	case "eval-rst":
		blocks, err := restructured.Fragment(w.ctx, body, w.anchors, depth)
		if w.err == nil {
			w.err = err
		}
		w.emitAll(blocks)
	case "admonition", "topic", "sidebar":
		compose.Quote(compose.Titled(inline.PlainText(argument), w.nestedText(body, depth)), w.emit)
	case "dropdown", "tab-item", "card", "grid-item-card", "tab-set", "grid", "tabbed", "grid-item", "margin", "epigraph", "glossary", "list-table":
		if argument != "" && strings.Trim(argument, "0123456789 ") != "" {
			w.emit(document.Block{Kind: document.Paragraph, Text: "**" + inline.PlainText(argument) + "**"})
		}
		w.emitAll(w.nestedText(body, depth))
	default:
		label := restructured.AdmonitionLabel(name)
		if label == "" {
			return false
		}
		if argument != "" {
			body = argument + "\n" + body
		}
		compose.Quote(compose.Titled(label, w.nestedText(body, depth)), w.emit)
	}
	return true
}

func (w *walker) emitAll(blocks []document.Block) {
	for i := range blocks {
		w.emit(blocks[i])
	}
}

// cutOptions cuts the options off the content of a directive: lines ":name: value", or YAML between lines of ---.
func cutOptions(content string) (options map[string]string, body string) {
	options = make(map[string]string)
	if strings.HasPrefix(content, "---\n") {
		if _, rest, found := strings.Cut(content[4:], "\n---\n"); found {
			return options, rest
		}
	}
	for {
		line, rest, _ := strings.Cut(content, "\n")
		width := restructured.FieldNameWidth(strings.TrimSpace(line))
		if width == 0 || line == "" {
			return options, content
		}
		line = strings.TrimSpace(line)
		options[strings.ToLower(line[1:width-1])] = strings.TrimSpace(line[width:])
		content = rest
	}
}

// nestedText reads the content of a directive as Markdown.
func (w *walker) nestedText(body string, depth int) []document.Block {
	if depth >= compose.MaxNesting {
		return []document.Block{{Kind: document.Paragraph, Text: strings.TrimSpace(body)}}
	}
	inner := walker{ctx: w.ctx, anchors: w.anchors, footnotes: w.footnotes, steps: w.steps, err: w.err}
	inner.parse(body, depth+1)
	w.steps, w.err = inner.steps, inner.err
	return inner.blocks
}
