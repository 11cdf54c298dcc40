package search

import (
	"strings"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/ingest/document"
)

// excerpt sets the snippet. If the passage has text of several sections, it sets
// headings, page and address to those of the section with most of the query's words,
// and takes the snippet from there.
func (h *Hit) excerpt(e *analysis.Excerpter) {
	if len(h.sections) == 0 {
		h.Snippet = e.Excerpt(document.PlainText(h.Text), h.Language)
		return
	}
	parts := make([]string, 0, len(h.sections)+1)
	at := 0
	for i := range h.sections {
		start := min(max(h.sections[i].Start, at), len(h.Text))
		parts = append(parts, strings.TrimSpace(document.PlainText(h.Text[at:start])))
		at = start
	}
	parts = append(parts, strings.TrimSpace(document.PlainText(h.Text[at:])))
	best := e.Best(parts, h.Language)
	text := parts[best]
	if best > 0 {
		s := &h.sections[best-1]
		h.Headings, h.Page, h.URL = s.Headings, s.Page, withFragment(h.address, s.Anchor, s.Page)
		if _, body, _ := strings.Cut(text, "\n"); strings.TrimSpace(body) != "" {
			text = strings.TrimLeft(body, "\n") // the heading is the last of Headings
		}
	}
	h.Snippet = e.Excerpt(text, h.Language)
}
