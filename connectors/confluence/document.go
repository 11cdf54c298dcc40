package confluence

import (
	"strings"

	"golang.org/x/net/html"
)

// document is a page as HTML: its title as the first heading, its labels as
// keywords, its text, and the comments below.
func document(base string, p *page, comments []comment, names people) []byte {
	w := &writer{base: base, space: p.space, people: names}
	w.b.WriteString("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>" + html.EscapeString(p.title) + "</title>")
	if len(p.labels) > 0 {
		w.b.WriteString(`<meta name="keywords" content="` + html.EscapeString(strings.Join(p.labels, ", ")) + `">`)
	}
	w.b.WriteString("</head><body><main>\n<h1>")
	w.text(p.title)
	w.b.WriteString("</h1>\n")
	w.children(readStorage(p.body))
	if len(comments) > 0 {
		w.b.WriteString("\n<h2>Comments</h2>\n")
	}
	for _, c := range comments {
		w.b.WriteString("<p><strong>")
		w.text(firstOf(c.author, "Somebody"))
		w.b.WriteString("</strong>")
		if !c.created.IsZero() {
			w.text(", " + c.created.Format("2006-01-02"))
		}
		if c.on != "" {
			w.text(", on “" + c.on + "”")
		}
		w.b.WriteString(":</p>\n<blockquote>")
		w.block(readStorage(c.body))
		w.b.WriteString("</blockquote>\n")
	}
	w.b.WriteString("\n</main></body></html>\n")
	return []byte(w.b.String())
}

// mentions are the users that pages and comments refer to.
func mentions(texts ...string) map[string]bool {
	ids := make(map[string]bool)
	for _, text := range texts {
		if strings.Contains(text, "<ri:user") {
			readStorage(text).mentioned(ids)
		}
	}
	return ids
}
