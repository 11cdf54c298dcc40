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
	w.softBreak = s.Attr("use-soft-page-breaks") == "true"
	w.page = 1
	err := w.flow(s)
	w.flush()
	w.flushNotes()
	r.judgePages(err != nil)
	return err
}

// judgePages takes the pages away where the file does not say where they end, or where what it says does not agree with
// how many it counts: a wrong page in a citation is worse than none.
func (r *reader) judgePages(cutOff bool) {
	w := r.walk
	counted, stated := w.page, r.draft.Pages
	tolerance := stated / 50
	if w.endnotes && counted < stated {
		tolerance += 1 + stated/10 // the notes take pages at the end
	}
	if cutOff && counted < stated {
		tolerance = stated
	}
	if w.softBreak && (stated == 0 || max(counted-stated, stated-counted) <= tolerance) {
		r.draft.Pages = max(counted, stated)
		return
	}
	for i := range w.blocks {
		w.blocks[i].Page = 0
	}
	w.page = 0
}

// margins are the texts of the headers and footers of pages.
type margins struct{ texts []string }

// maxMargins bounds the headers and footers that are taken.
const maxMargins = 50

// masters reads the headers and footers of the master pages. Those of sheets and slides stay unread: programs put sample
// text there.
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

// readMargin keeps a header or footer, unless it is there for the page number or was met before.
func (r *reader) readMargin(s *xmlscan.Scanner) error {
	w := r.walk
	w.margin, w.numbered = true, false
	text, err := w.collectText(s, func() error { return w.flow(s) })
	w.margin = false
	letters := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if letters == 0 || w.numbered && letters < 12 || len(r.margins.texts) >= maxMargins || slices.Contains(r.margins.texts, text) {
		return err
	}
	r.margins.texts = append(r.margins.texts, strings.TrimSpace(text))
	return err
}
