package confluence

import (
	"cmp"
	"strings"

	"golang.org/x/net/html"
)

// renderDocument returns a page as HTML: its title as the first heading, its
// labels as keywords, its content, and the comments.
func renderDocument(base string, p *page, comments []comment, names userNames) []byte {
	w := &writer{base: base, space: p.space, userNames: names}
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
		w.text(cmp.Or(c.author, "Somebody"))
		w.b.WriteString("</strong>")
		if !c.created.IsZero() {
			w.text(", " + c.created.Format("2006-01-02"))
		}
		if c.selection != "" {
			w.text(", on “" + c.selection + "”")
		}
		w.b.WriteString(":</p>\n<blockquote>")
		w.block(readStorage(c.body))
		w.b.WriteString("</blockquote>\n")
	}
	w.b.WriteString("\n</main></body></html>\n")
	return []byte(w.b.String())
}

// mentionedUsers returns the ids of the users that texts mention.
func mentionedUsers(texts ...string) map[string]bool {
	ids := make(map[string]bool)
	for _, text := range texts {
		if strings.Contains(text, "<ri:user") {
			readStorage(text).collectUsers(ids)
		}
	}
	return ids
}
