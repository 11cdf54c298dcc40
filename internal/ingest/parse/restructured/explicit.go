package restructured

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/htmldoc"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// explicit reads explicit markup, which begins with two dots: footnotes, targets, substitutions, directives and
// comments.
func (b *body) explicit(lines []string) int {
	line := strings.TrimRight(lines[0], " ")
	if line == ".." && (len(lines) == 1 || compose.IsBlank(lines[1])) {
		return 1
	}
	n := 1 + compose.IndentedLines(lines[1:], 1)
	text := strings.TrimSpace(strings.TrimPrefix(line, ".."))
	indented := compose.DedentLines(lines[1:n])
	switch {
	case strings.HasPrefix(text, "["):
		if label, rest, found := strings.Cut(text[1:], "]"); found && label != "" && (rest == "" || rest[0] == ' ') {
			b.footnote(label, append([]string{strings.TrimSpace(rest)}, indented...))
			return n
		}
	case strings.HasPrefix(text, "__"):
		return n
	case strings.HasPrefix(text, "_"):
		name, target := cutTargetDefinition(text)
		switch {
		case name == "":
		case target == "" && len(compose.TrimBlankLines(indented)) == 0:
			b.p.pendingTarget = docutilsID(name)
			return 1
		default:
			return n
		}
	case strings.HasPrefix(text, "|"):
		if strings.Contains(text, "::") {
			return n
		}
	}
	if name, argument, found := directiveName(text); found {
		b.directive(name, argument, lines[1:n])
	}
	return n
}

// directiveName splits "name:: argument".
func directiveName(text string) (name, argument string, found bool) {
	end := strings.Index(text, "::")
	if end <= 0 {
		return "", "", false
	}
	name = strings.TrimSpace(text[:end])
	for i := range len(name) {
		if !ascii.IsAlphanumeric(name[i]) && strings.IndexByte("-_.+:", name[i]) < 0 {
			return "", "", false
		}
	}
	if name == "" || end+2 < len(text) && text[end+2] != ' ' {
		return "", "", false
	}
	return strings.ToLower(name), strings.TrimSpace(text[end+2:]), true
}

// footnote keeps a footnote for the end of the file.
func (b *body) footnote(label string, lines []string) {
	names := &b.p.names
	if label == "#" {
		names.autoNumbered++
		label = "#" + strconv.Itoa(names.autoNumbered)
	}
	if number, known := names.footnoteNumbers[label]; known {
		label = number
	}
	if len(names.footnotes) < compose.MaxNames {
		names.footnotes = append(names.footnotes, footnote{strings.TrimPrefix(label, "#"), lines})
	}
}

// directive is a parsed directive.
type directive struct {
	name, argument string
	options        map[string]string
	content        []string
}

func (d *directive) option(names ...string) string {
	for _, name := range names {
		if value := d.options[name]; value != "" {
			return value
		}
	}
	return ""
}

// directive reads a directive. The lines are those after the first.
func (b *body) directive(name, argument string, lines []string) {
	d := parseDirective(name, argument, lines)
	if domain := strings.IndexByte(name, ':'); domain >= 0 && !isPythonModule(name) {
		b.describe(d)
		return
	}
	if !b.simpleDirective(d) && !b.containerDirective(d) && !b.literalDirective(d) && !b.tableDirective(d) {
		b.unknownDirective(d)
	}
}

func isPythonModule(name string) bool {
	switch name {
	case "py:module", "py:currentmodule", "js:module", "py:data-table":
		return true
	}
	return false
}

// parseDirective separates argument, options and content. The argument ends at the first option or blank line.
func parseDirective(name, argument string, lines []string) *directive {
	d := &directive{name: name, argument: argument, options: make(map[string]string)}
	lines = compose.DedentLines(lines)
	i := 0
	for i < len(lines) && !compose.IsBlank(lines[i]) && FieldNameWidth(lines[i]) == 0 {
		i++
	}
	before := lines[:i]
	for i < len(lines) && FieldNameWidth(lines[i]) > 0 {
		width := FieldNameWidth(lines[i])
		key, value := strings.ToLower(lines[i][1:width-1]), strings.TrimSpace(lines[i][width:])
		for i++; i < len(lines) && !compose.IsBlank(lines[i]) && lines[i][0] == ' '; i++ {
			value += " " + strings.TrimSpace(lines[i])
		}
		if len(d.options) < compose.MaxFacts {
			d.options[key] = value
		}
		if value == "" && len(d.options) < compose.MaxFacts {
			d.options[key] = "yes"
		}
	}
	d.content = compose.TrimBlankLines(lines[i:])
	if hasTextArgument(name) {
		d.content = append(append([]string{}, before...), lines[i:]...)
		return d
	}
	for _, line := range before {
		d.argument = strings.TrimSpace(d.argument + "\n" + strings.TrimSpace(line))
	}
	return d
}

// hasTextArgument reports whether the first lines of a directive are content, not an argument.
func hasTextArgument(name string) bool {
	switch name {
	case "note", "warning", "tip", "important", "hint", "attention", "caution", "danger", "error", "seealso", "todo", "code", "code-block",
		"sourcecode", "parsed-literal", "math", "epigraph", "highlights", "pull-quote", "compound", "versionadded", "versionchanged",
		"deprecated", "versionremoved", "deprecated-removed", "container", "glossary", "hlist":
		return true
	}
	return false
}

// AdmonitionLabel returns the label of an admonition directive, or "".
func AdmonitionLabel(name string) string {
	switch name {
	case "note", "warning", "tip", "important", "hint", "attention", "caution", "danger", "error", "todo":
		return strings.ToUpper(name[:1]) + name[1:]
	case "seealso":
		return "See also"
	}
	return ""
}

// admonition emits an admonition as a quotation with a label.
func (b *body) admonition(label string, blocks []document.Block) {
	compose.Quote(compose.Titled(label, blocks), b.emit)
}

// simpleDirective reads a directive without content of its own, or with facts about the file. It reports whether the
// directive is one.
func (b *body) simpleDirective(d *directive) bool {
	p := b.p
	switch d.name {
	case "contents", "include", "literalinclude", "sectnum", "section-numbering", "header", "footer", "index", "default-role", "role",
		"default-domain", "tabularcolumns", "unicode", "date", "replace", "target-notes", "bibliography", "program", "restructuredtext-test-directive",
		"autosummary", "highlightlang", "testsetup", "testcleanup", "doxygenfile", "genindex", "footbibliography", "csv-table-path":
	case "highlight":
		p.language = inline.FenceLanguage(d.argument)
		if p.language == "none" || p.language == "default" {
			p.language = ""
		}
	case "toctree":
		b.toctree(d)
	case "meta":
		fields, _ := cutFields(d.content)
		if len(fields) == 0 {
			fields = optionFields(d.options)
		}
		b.addFacts(fields)
	case "title":
		p.meta["title"] = p.plain(d.argument)
	case "sectionauthor", "codeauthor", "moduleauthor":
		if _, known := p.meta["author"]; !known {
			name, _, _ := strings.Cut(d.argument, "<")
			p.meta["author"] = strings.TrimSpace(name)
		}
	case "module", "py:module", "js:module", "currentmodule", "py:currentmodule":
		p.module = d.argument
		if synopsis := d.options["synopsis"]; synopsis != "" {
			b.paragraph(p.inline(synopsis))
		}
	case "image", "figure", "carousel", "thumbnail":
		b.image(d)
	case "raw":
		if strings.HasPrefix(strings.ToLower(d.argument), "html") {
			for _, block := range htmldoc.Fragment(p.ctx, strings.Join(d.content, "\n"), p.anchors) {
				b.emit(block)
			}
		}
	case "math":
		if text := strings.TrimSpace(d.argument + "\n" + strings.Join(d.content, "\n")); text != "" {
			b.paragraph("$$\n" + strings.ReplaceAll(text, "\n\n", "\n") + "\n$$")
		}
	case "rubric", "centered":
		b.paragraph("**" + p.plain(d.argument) + "**")
	case "versionadded", "versionchanged", "deprecated", "versionremoved", "deprecated-removed":
		b.versionNote(d)
	default:
		return false
	}
	return true
}

func optionFields(options map[string]string) []field {
	var fields []field
	for _, name := range []string{"description", "keywords", "author", "language", "version", "date", "title"} {
		if value := options[name]; value != "" {
			fields = append(fields, field{name, []string{value}})
		}
	}
	return fields
}

// toctree emits the entries of a table of contents that have titles. Others are file names.
func (b *body) toctree(d *directive) {
	items := compose.List{Emit: b.emit}
	for _, line := range d.content {
		if label, target := cutTarget(strings.TrimSpace(line)); label != target {
			items.Lines("- ", 2, inline.Link(b.p.plain(label), target))
		}
	}
	items.Flush()
}

// image emits the alternative text of an image, its caption and its legend.
func (b *body) image(d *directive) {
	inner := b.nested(d.content)
	alt := b.p.plain(d.option("alt"))
	if alt != "" && (len(inner) == 0 || !strings.Contains(inner[0].Text, alt)) {
		b.paragraph(inline.Link(alt, d.options["target"]))
	}
	for i := range inner {
		b.emit(inner[i])
	}
}

// versionNote emits a note about a version.
func (b *body) versionNote(d *directive) {
	words := map[string]string{
		"versionadded": "New in version ", "versionchanged": "Changed in version ", "deprecated": "Deprecated since version ",
		"versionremoved": "Removed in version ", "deprecated-removed": "Deprecated since version ",
	}
	version, rest, _ := strings.Cut(d.argument, " ")
	label := words[d.name] + version
	content := append([]string{rest}, d.content...)
	for _, block := range compose.Labelled(label+": ", b.nested(compose.TrimBlankLines(content))) {
		if block.Kind == document.Paragraph && strings.HasSuffix(block.Text, ":") && len(block.Text) == len(label)+1 {
			block.Text = label
		}
		b.emit(block)
	}
}
