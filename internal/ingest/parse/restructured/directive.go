package restructured

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
	"github.com/magpie-search/magpie/internal/safetext"
)

// containerDirective reads a directive that groups text or sets it apart. It reports whether the directive is one.
func (b *body) containerDirective(d *directive) bool {
	p := b.p
	label := AdmonitionLabel(d.name)
	content := d.content
	switch d.name {
	case "note", "warning", "tip", "important", "hint", "attention", "caution", "danger", "error", "seealso", "todo":
		if d.argument != "" {
			content = append([]string{d.argument}, content...)
		}
		b.admonition(label, b.nested(content))
	case "admonition", "topic", "sidebar", "exercise", "solution":
		b.admonition(p.plain(d.argument), b.nested(content))
	case "epigraph", "highlights", "pull-quote":
		if d.argument != "" {
			content = append([]string{d.argument}, content...)
		}
		compose.Quote(b.nested(content), b.emit)
	case "only", "ifconfig", "class", "rst-class", "cssclass", "cond":
		if d.name == "class" && (p.module != "" || strings.ContainsAny(d.argument, "(.")) {
			return false // a class of a program, not of a style sheet
		}
		for _, block := range p.readBody(content, b.depth+1, b.hasTitles) {
			b.emit(block)
		}
	case "compound", "container", "glossary", "hlist", "acks", "tabs", "tab-set", "grid", "grids", "panels", "div", "centered-content", "row",
		"column", "columns", "card-carousel", "card-grid", "steps", "list":
		if d.name == "glossary" || d.name == "compound" {
			content = append([]string{d.argument}, content...)
		}
		b.emitAll(b.nested(compose.TrimBlankLines(content)))
	case "tab", "tab-item", "group-tab", "dropdown", "details", "collapse", "toggle", "card", "grid-item-card", "grid-item", "question", "step",
		"toggle-header":
		if title := p.plain(d.argument); title != "" {
			b.paragraph("**" + title + "**")
		}
		b.emitAll(b.nested(content))
	default:
		return false
	}
	return true
}

func (b *body) emitAll(blocks []document.Block) {
	for i := range blocks {
		b.emit(blocks[i])
	}
}

// literalDirective reads a directive whose content is code. It reports whether the directive is one.
func (b *body) literalDirective(d *directive) bool {
	language := ""
	switch d.name {
	case "code", "code-block", "sourcecode", "code-cell", "prompt", "console":
		language = inline.FenceLanguage(d.argument)
		if language == "" && d.name != "code" {
			language = b.p.language
		}
		if language == "none" || language == "text" || language == "default" {
			language = ""
		}
		if caption := d.options["caption"]; caption != "" {
			b.paragraph(b.p.inline(caption))
		}
	case "code-tab":
		first, title, _ := strings.Cut(d.argument, " ")
		language = inline.FenceLanguage(first)
		if title != "" {
			b.paragraph("**" + b.p.plain(title) + "**")
		}
	case "parsed-literal":
		text := d.argument + "\n" + strings.Join(d.content, "\n")
		b.emit(document.Block{Kind: document.Code, Text: strings.Trim(b.p.spans(text, false, 0), "\n")})
		return true
	case "doctest", "testcode", "testoutput", "ipython", "plot", "jupyter-execute", "exec_code", "pyscript":
		language = "python"
	case "graphviz", "digraph", "graph", "mermaid", "uml", "plantuml", "blockdiag", "seqdiag", "actdiag", "nwdiag", "tikz":
		language = d.name
	case "productionlist", "literal", "terminal", "command-output", "program-output", "termbox", "ansi-block":
	default:
		return false
	}
	content := d.content
	if len(content) == 0 && d.name == "productionlist" {
		content = strings.Split(d.argument, "\n")
	}
	b.emit(compose.CodeBlock(language, content))
	return true
}

// describe reads a directive that describes a function, a class or an option. Its signature becomes a heading one level
// below the section.
func (b *body) describe(d *directive) {
	p := b.p
	kind := d.name[strings.LastIndexByte(d.name, ':')+1:]
	signatures := strings.Split(strings.ReplaceAll(d.argument, "\\\n", " "), "\n")
	level := min(p.level+1+p.descriptionDepth, 6)
	outer := p.class
	for i, signature := range signatures {
		signature = strings.TrimSpace(strings.ReplaceAll(signature, `\`, ""))
		name := memberName(signature)
		own := ""
		if strings.HasPrefix(d.name, "py:") || !strings.Contains(d.name, ":") && isPythonKind(kind) {
			own = qualifiedName(p.module, outer, name)
		}
		if i == 0 {
			b.heading(level, signature, own)
			if kind == "class" || kind == "exception" {
				p.class = name
			}
		} else if signature != "" {
			b.paragraph(inline.CodeSpan(signature))
		}
	}
	p.descriptionDepth++
	for _, block := range b.nested(d.content) {
		b.emit(block)
	}
	p.descriptionDepth--
	p.class = outer
}

// isDescription reports whether a directive of Sphinx describes a member without a domain in its name.
func isDescription(name string) bool {
	switch name {
	case "function", "class", "method", "classmethod", "staticmethod", "attribute", "data", "exception", "decorator", "decoratormethod", "property",
		"object", "describe", "option", "cmdoption", "envvar", "confval", "setting", "django-admin", "templatetag", "templatefilter", "fieldlookup",
		"opcode", "cfunction", "cmacro", "cmember", "ctype", "cvar", "coroutinefunction", "coroutinemethod", "awaitablefunction", "awaitablemethod",
		"abstractmethod", "pdbcommand", "2to3fixer", "monitoring-event", "command", "type", "macro", "rconfval":
		return true
	}
	return false
}

func isPythonKind(kind string) bool {
	switch kind {
	case "function", "class", "method", "classmethod", "staticmethod", "attribute", "data", "exception", "decorator", "property",
		"coroutinefunction", "coroutinemethod", "awaitablefunction", "awaitablemethod", "abstractmethod":
		return true
	}
	return false
}

// memberName returns the name in a signature, such as "run" in "async run(x) -> y".
func memberName(signature string) string {
	name, _, _ := strings.Cut(signature, "(")
	if words := strings.Fields(name); len(words) > 0 {
		return words[len(words)-1]
	}
	return ""
}

// qualifiedName joins the known parts of a Python name.
func qualifiedName(module, class, name string) string {
	if name == "" || strings.ContainsAny(name, "*<>\"'`") {
		return ""
	}
	if class != "" && !strings.HasPrefix(name, class+".") {
		name = class + "." + name
	}
	if module != "" && !strings.HasPrefix(name, module+".") {
		name = module + "." + name
	}
	return safetext.TruncateBytes(name, 200)
}

// unknownDirective reads a directive of an unknown name. Its text is kept.
func (b *body) unknownDirective(d *directive) {
	switch {
	case isDescription(d.name):
		b.describe(d)
		return
	case strings.HasPrefix(d.name, "auto") || strings.HasPrefix(d.name, "doxygen"):
		if name := strings.Join(strings.Fields(d.argument), " "); name != "" {
			b.paragraph(inline.CodeSpan(name))
		}
	case d.argument != "" && (len(d.content) > 0 || strings.Count(d.argument, " ") >= 2):
		b.paragraph(b.p.inline(d.argument))
	}
	b.emitAll(b.nested(d.content))
}
