package xmldoc

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// inline returns the text of an element as Markdown.
func (w *writer) inline(node *element) string {
	var b strings.Builder
	for _, child := range node.children {
		w.writeInline(&b, child, true, 0)
	}
	return b.String()
}

// plain returns the text of an element without Markdown.
func (w *writer) plain(node *element) string {
	var b strings.Builder
	for _, child := range node.children {
		w.writeInline(&b, child, false, 0)
	}
	return b.String()
}

// writeInline writes an inline element. A line break is a NUL character.
func (w *writer) writeInline(b *strings.Builder, node *element, markup bool, depth int) {
	switch {
	case !w.ok() || depth > maxDepth:
		return
	case node.name == "":
		b.WriteString(expandEntities(node.text))
		return
	}
	switch kindOf(node.name) {
	case kindSkipped:
		return
	case kindFootnote:
		w.footnote(b, node, markup)
		return
	case kindImage:
		if alt := node.find("textobject"); alt != nil {
			b.WriteString(alt.line())
		} else {
			b.WriteString(node.attr("alt"))
		}
		return
	}
	switch {
	case isCodeName(node.name):
		text := strings.Join(strings.Fields(w.plain(node)), " ")
		if markup {
			if strings.HasSuffix(b.String(), "`") {
				b.WriteByte(' ')
			}
			text = inline.CodeSpan(text)
		}
		b.WriteString(text)
		return
	case node.name == "note" && node.attr("place") != "":
		w.footnote(b, node, markup)
		return
	}
	inner := func(marks string) {
		var text strings.Builder
		parted := !node.isMixed()
		for i, child := range node.children {
			if parted && i > 0 && child.name != "" {
				text.WriteByte(' ') // between the parts of a record
			}
			w.writeInline(&text, child, markup, depth+1)
		}
		writeMarked(b, text.String(), marks, markup)
	}
	switch node.name {
	case "br", "lb", "break":
		b.WriteByte(0)
	case "link", "ulink", "a", "ext-link", "uri", "email", "xref", "ref", "ptr", "eref", "olink":
		w.writeLink(b, node, markup, depth)
	case "emphasis", "em", "i", "italic", "firstterm", "citetitle", "hi":
		role := node.attr("role", "rend", "rendition")
		switch {
		case strings.Contains(role, "bold") || role == "strong":
			inner("**")
		case strings.Contains(role, "sup"):
			b.WriteString(inline.Superscript(w.plain(node)))
		case strings.Contains(role, "sub") || strings.Contains(role, "underline"):
			inner("")
		default:
			inner("*")
		}
	case "b", "bold", "strong", "uicontrol":
		inner("**")
	case "quote", "q", "socalled":
		b.WriteString("“")
		inner("")
		b.WriteString("”")
	case "sup", "superscript":
		b.WriteString(inline.Superscript(w.plain(node)))
	case "math", "inlineequation", "inline-formula", "tex-math":
		b.WriteString(w.formula(node))
	case "menucascade", "menuchoice", "keycombo":
		w.writeParts(b, node)
	case "citerefentry":
		b.WriteString(node.child("refentrytitle").line() + "(" + node.child("manvolnum").line() + ")")
	default:
		inner("")
	}
}

// writeMarked writes a text between Markdown marks, which must touch its words.
func writeMarked(b *strings.Builder, text, marks string, markup bool) {
	trimmed := strings.TrimSpace(text)
	if !markup || marks == "" || trimmed == "" || strings.ContainsAny(trimmed, "*\x00") {
		b.WriteString(text)
		return
	}
	at := strings.Index(text, trimmed)
	b.WriteString(text[:at] + marks + trimmed + marks + text[at+len(trimmed):])
}

// writeParts joins the entries of a menu, or the keys of a key combination.
func (w *writer) writeParts(b *strings.Builder, node *element) {
	sign := " > "
	if node.name == "keycombo" {
		sign = "+"
	}
	var parts []string
	for _, child := range node.children {
		if text := child.line(); text != "" && child.name != "shortcut" {
			parts = append(parts, text)
		}
	}
	b.WriteString(strings.Join(parts, sign))
}

// writeLink writes a link to an address, or the title of the place in the document that it refers to.
func (w *writer) writeLink(b *strings.Builder, node *element, markup bool, depth int) {
	var label strings.Builder
	for _, child := range node.children {
		w.writeInline(&label, child, markup, depth+1)
	}
	text := strings.ReplaceAll(label.String(), "\x00", " ")
	target := node.attr("href", "url", "target")
	id := node.attr("linkend", "rid", "endterm")
	if strings.HasPrefix(target, "#") {
		id = target[strings.LastIndexAny(target, "#/")+1:]
	}
	if strings.TrimSpace(text) == "" {
		text = w.titles[id]
	}
	if node.name == "xref" && strings.TrimSpace(text) == "" && !inline.IsAddress(target) {
		text = w.titles[target] // RFC XML has the place as the target
	}
	if node.name == "email" && target == "" {
		target = "mailto:" + strings.TrimSpace(text)
	}
	if node.name == "uri" && target == "" {
		target = strings.TrimSpace(text)
	}
	if strings.TrimSpace(text) == "" {
		text = target
	}
	if strings.TrimSpace(text) == "" {
		text = id
	}
	external := inline.IsAddress(target) || strings.HasPrefix(target, "/") || strings.Contains(target, ".") && node.name != "xref"
	if !markup || target == "" || !external || strings.Contains(text, "](") || strings.TrimSpace(text) == target {
		b.WriteString(text)
		return
	}
	trimmed := strings.TrimSpace(text)
	at := strings.Index(text, trimmed)
	b.WriteString(text[:at] + inline.Link(strings.Join(strings.Fields(trimmed), " "), target) + text[at+len(trimmed):])
}

// footnote writes the number of a footnote and keeps its text for the end.
func (w *writer) footnote(b *strings.Builder, node *element, markup bool) {
	if w.footnotes == nil || !markup || len(*w.footnotes) >= compose.MaxNames {
		b.WriteString(" (" + node.line() + ")")
		return
	}
	at := len(*w.footnotes)
	*w.footnotes = append(*w.footnotes, "")
	b.WriteString("[" + strconv.Itoa(at+1) + "]")
	(*w.footnotes)[at] = compose.Cell(w.read(node))
}

// formula returns a formula in TeX if there is one, or else its text.
func (w *writer) formula(node *element) string {
	tex := node
	if node.name != "tex-math" {
		tex = node.find("tex-math")
	}
	if tex != nil {
		return "$" + strings.Trim(tex.line(), "$ ") + "$"
	}
	if alt := node.attr("alttext"); alt != "" {
		return "$" + alt + "$"
	}
	return node.joinedText()
}
