package odf

import (
	"slices"
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// text reads the body of a text document.
func (r *reader) text(s *xmlscan.Scanner) error {
	r.draft.Prose = true
	w := r.walk
	w.hasPageBreaks = s.Attr("use-soft-page-breaks") == "true"
	w.page = 1
	err := w.flow(s)
	w.flush()
	w.flushNotes()
	r.checkPages(err != nil)
	return err
}

// checkPages removes the pages of blocks if the file has no page breaks, or if their number differs from the declared
// one. A wrong page in a citation is worse than none.
func (r *reader) checkPages(isTruncated bool) {
	w := r.walk
	counted, stated := w.page, r.draft.Pages
	tolerance := stated / 50
	if w.hasEndnotes && counted < stated {
		tolerance += 1 + stated/10 // endnotes have pages of their own
	}
	if isTruncated && counted < stated {
		tolerance = stated
	}
	if w.hasPageBreaks && (stated == 0 || max(counted-stated, stated-counted) <= tolerance) {
		r.draft.Pages = max(counted, stated)
		return
	}
	for i := range w.blocks {
		w.blocks[i].Page = 0
	}
	w.page = 0
}

// margins are the texts of headers and footers.
type margins struct{ texts []string }

// maxMargins is how many headers and footers are read.
const maxMargins = 50

// masters reads the headers and footers of the master pages. Those of sheets and slides are samples and are left out.
func (r *reader) masters(s *xmlscan.Scanner) error {
	w := r.walk
	return w.each(s, func() error {
		if s.Name() != "master-page" {
			return w.skip(s)
		}
		return w.each(s, func() error {
			switch s.Name() {
			case "header", "header-left", "header-first", "footer", "footer-left", "footer-first":
				if s.Prefix() == "style" && s.Attr("display") != "false" {
					return r.readMargin(s)
				}
			}
			return w.skip(s)
		})
	})
}

// readMargin reads a header or footer, unless it is only a page number or repeats another.
func (r *reader) readMargin(s *xmlscan.Scanner) error {
	w := r.walk
	w.inMargin, w.hasPageNumber = true, false
	text, err := w.collectText(s, func() error { return w.flow(s) })
	w.inMargin = false
	letters := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if letters == 0 || w.hasPageNumber && letters < 12 || len(r.margins.texts) >= maxMargins || slices.Contains(r.margins.texts, text) {
		return err
	}
	r.margins.texts = append(r.margins.texts, strings.TrimSpace(text))
	return err
}
