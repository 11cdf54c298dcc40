package xmldoc

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// inline returns the text of an element as Markdown.
func (w *xmlProse) inline(node *xmlNode) string {
	var b strings.Builder
	for _, child := range node.children {
		w.writeInline(&b, child, true, 0)
	}
	return b.String()
}

// plain returns the text of an element without Markdown.
func (w *xmlProse) plain(node *xmlNode) string {
	var b strings.Builder
	for _, child := range node.children {
		w.writeInline(&b, child, false, 0)
	}
	return b.String()
}

// writeInline writes an inline element. A line break is a zero byte.
func (w *xmlProse) writeInline(b *strings.Builder, node *xmlNode, marked bool, depth int) {
	switch {
	case !w.alive() || depth > maxXMLDepth:
		return
	case node.name == "":
		b.WriteString(unnamed(node.text))
		return
	}
	switch xmlKind(node.name) {
	case xmlSkipped:
		return
	case xmlFootnote:
		w.footnote(b, node, marked)
		return
	case xmlImage:
		if alt := node.find("textobject"); alt != nil {
			b.WriteString(alt.line())
		} else {
			b.WriteString(node.attr("alt"))
		}
		return
	}
	switch {
	case isXMLCode(node.name):
		text := strings.Join(strings.Fields(w.plain(node)), " ")
		if marked {
			if strings.HasSuffix(b.String(), "`") {
				b.WriteByte(' ')
			}
			text = inline.CodeSpan(text)
		}
		b.WriteString(text)
		return
	case node.name == "note" && node.attr("place") != "":
		w.footnote(b, node, marked)
		return
	}
	inner := func(marks string) {
		var text strings.Builder
		parted := !node.mixed()
		for i, child := range node.children {
			if parted && i > 0 && child.name != "" {
				text.WriteByte(' ') // the parts of a record
			}
			w.writeInline(&text, child, marked, depth+1)
		}
		wrapped(b, text.String(), marks, marked)
	}
	switch node.name {
	case "br", "lb", "break":
		b.WriteByte(0)
	case "link", "ulink", "a", "ext-link", "uri", "email", "xref", "ref", "ptr", "eref", "olink":
		w.writeLink(b, node, marked, depth)
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

// wrapped writes a text between marks, which stand beside its words and not beside blanks.
func wrapped(b *strings.Builder, text, marks string, marked bool) {
	trimmed := strings.TrimSpace(text)
	if !marked || marks == "" || trimmed == "" || strings.ContainsAny(trimmed, "*\x00") {
		b.WriteString(text)
		return
	}
	at := strings.Index(text, trimmed)
	b.WriteString(text[:at] + marks + trimmed + marks + text[at+len(trimmed):])
}

// writeParts joins the entries of a menu and the keys of a combination.
func (w *xmlProse) writeParts(b *strings.Builder, node *xmlNode) {
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
func (w *xmlProse) writeLink(b *strings.Builder, node *xmlNode, marked bool, depth int) {
	var label strings.Builder
	for _, child := range node.children {
		w.writeInline(&label, child, marked, depth+1)
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
		text = w.titles[target] // RFC XML names the place as the target
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
	if !marked || target == "" || !external || strings.Contains(text, "](") || strings.TrimSpace(text) == target {
		b.WriteString(text)
		return
	}
	trimmed := strings.TrimSpace(text)
	at := strings.Index(text, trimmed)
	b.WriteString(text[:at] + inline.Link(strings.Join(strings.Fields(trimmed), " "), target) + text[at+len(trimmed):])
}

// footnote writes the number of a note and keeps its text for the end.
func (w *xmlProse) footnote(b *strings.Builder, node *xmlNode, marked bool) {
	if w.notes == nil || !marked || len(*w.notes) >= compose.MaxNames {
		b.WriteString(" (" + node.line() + ")")
		return
	}
	at := len(*w.notes)
	*w.notes = append(*w.notes, "")
	b.WriteString("[" + strconv.Itoa(at+1) + "]")
	(*w.notes)[at] = compose.Cell(w.read(node))
}

// formula returns a formula in TeX where there is one, else its text.
func (w *xmlProse) formula(node *xmlNode) string {
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
	return node.joined()
}
