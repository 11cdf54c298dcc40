package pdf

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A line is a line of text, or a table, in reading order.
type line struct {
	text           string // on one line; with all blanks if it is monospaced
	links          []linked
	x0, x1, base   float64
	size           float64
	column         int // index of the page's column
	turn           turn
	isBold, isMono bool     // all of it
	isRunning      bool     // a running header or footer, or a page number
	hasGaps        bool     // there are wide gaps between its parts
	pieces         []string // the parts of a line with wide gaps
	table          *table
	parts          []part // parts are set if there are several. parts and words are only used while a page is arranged.
	words          []part
}

// leaders matches the dots between an entry of a table of contents and its page number.
var leaders = regexp.MustCompile(`\s*(?:\.\s?){4,}\s*`)

// A part is a piece of a line with its position.
type part struct {
	text   string
	x0, x1 float64
}

// linked is a link in the text of a line.
type linked struct {
	from, to int // bytes
	target   string
}

// length returns the length of the text.
func (l *line) length() int {
	if l.table == nil {
		return len(l.text)
	}
	n := 0
	for _, row := range l.table.rows {
		for _, cell := range row {
			n += len(cell)
		}
	}
	return n
}

// line makes a line of segments on the same base line.
func (a *arranger) line(row []segment) line {
	if row[0].table != nil {
		s := &row[0]
		return line{x0: s.x0, x1: s.x1, base: s.base, size: s.size, table: s.table}
	}
	slices.SortStableFunc(row, func(a, b segment) int { return cmp.Compare(a.x0, b.x0) })
	if rightToLeft(row) {
		slices.Reverse(row)
	}
	made := line{x0: math.Inf(1), x1: math.Inf(-1), base: row[0].base, turn: row[0].spans[0].turn}
	all, bold, mono := 0, 0, 0
	sizes := make(map[float64]int, 2)
	for _, segment := range row {
		made.x0, made.x1 = min(made.x0, segment.x0), max(made.x1, segment.x1)
		for k := range segment.spans {
			s := &segment.spans[k]
			all += s.glyphs
			if s.isBold {
				bold += s.glyphs
			}
			if s.isMono {
				mono += s.glyphs
			}
			sizes[s.size] += s.glyphs
		}
	}
	most := -1
	for size, glyphs := range sizes {
		if glyphs > most || glyphs == most && size > made.size {
			made.size, most = size, glyphs
		}
	}
	made.isBold, made.isMono = bold == all, 10*mono >= 9*all
	w := lineWriter{links: a.links, mono: made.isMono}
	for i, segment := range row {
		from := w.text.Len()
		for k, s := range readingOrder(segment.spans) {
			w.span(s, k == 0 && i > 0)
		}
		made.parts = append(made.parts, part{text: strings.TrimSpace(w.text.String()[from:]), x0: segment.x0, x1: segment.x1})
	}
	made.text, made.links, made.words = w.text.String(), w.ranges, w.words
	if len(made.links) == 0 && !made.isMono {
		made.text = leaders.ReplaceAllString(made.text, " … ")
	}
	if len(made.parts) == 1 {
		made.parts = nil
	}
	for i := 1; i < len(row); i++ {
		made.hasGaps = made.hasGaps || row[i].x0-row[i-1].x1 > 2*made.size
	}
	if made.hasGaps {
		made.pieces = make([]string, len(made.parts))
		for i := range made.parts {
			made.pieces[i] = made.parts[i].text
		}
	}
	return made
}

// readingOrder returns the spans of a segment in reading order.
func readingOrder(spans []span) []*span {
	list := make([]*span, len(spans))
	for i := range spans {
		list[i] = &spans[i]
	}
	if rightToLeft([]segment{{spans: spans}}) {
		slices.Reverse(list)
	}
	return list
}

// A lineWriter joins spans to the text of a line.
type lineWriter struct {
	links  []link
	mono   bool
	text   strings.Builder
	words  []part
	ranges []linked
	last   *span
}

func (w *lineWriter) span(s *span, hasGap bool) {
	before := w.text.Len()
	w.blanks(s, hasGap)
	w.addWords(s, w.last != nil && w.text.Len() == before)
	text := s.text
	if !w.mono {
		text = squeeze(text)
	}
	from := w.text.Len()
	if mark := strings.TrimSpace(text); s.isRaised && isNoteMark(mark) && w.takesNote() {
		text = "[" + mark + "]"
		if w.last == nil {
			text += " "
		}
	}
	w.text.WriteString(text)
	if s.link > 0 && s.link <= len(w.links) {
		w.link(from, w.text.Len(), w.links[s.link-1].target)
	}
	w.last = s
}

// addWords adds the words of a span. The first may continue the last word before it.
func (w *lineWriter) addWords(s *span, isGlued bool) {
	from, x := 0, s.x0
	add := func(to int, x1 float64) {
		text := strings.TrimSpace(s.text[from:to])
		if n := len(w.words); isGlued && n > 0 {
			w.words[n-1].text += text
			w.words[n-1].x1 = max(w.words[n-1].x1, x1)
		} else if text != "" {
			w.words = append(w.words, part{text: text, x0: x, x1: x1})
		}
		isGlued = false
	}
	for _, b := range s.breaks {
		if b.at < from || b.at > len(s.text) {
			continue
		}
		add(b.at, b.x0)
		from, x = b.at, b.x1
	}
	add(len(s.text), s.x1)
}

// blanks writes the white space before a span.
func (w *lineWriter) blanks(s *span, hasGap bool) {
	if w.last == nil {
		return
	}
	gap := max(s.x0-w.last.x1, w.last.x0-s.x1)
	size := max(s.size, w.last.size)
	switch {
	case w.mono && s.glyphs > 0 && gap > 0.3*size:
		pitch := (s.x1 - s.x0) / float64(max(utf8.RuneCountInString(s.text), 1))
		w.text.WriteString(strings.Repeat(" ", min(max(int(math.Round(gap/max(pitch, 1))), 1), 80)))
	case s.isRaised && gap < 0.25*size && isNoteMark(s.text):
	case hasGap, s.afterBlank, gap > 0.15*size && !s.isRaised && !w.last.isRaised:
		if isIdeographic(lastRune(w.last.text)) && isIdeographic(firstRune(s.text)) && gap < 0.5*size {
			return
		}
		w.text.WriteByte(' ')
	}
}

// takesNote reports whether a superscript number refers to a note or starts one, and is no exponent.
func (w *lineWriter) takesNote() bool {
	if w.last == nil {
		return true
	}
	text := strings.TrimRight(w.last.text, " ")
	if lastRune(text) != ')' && unicode.IsPunct(lastRune(text)) {
		return true
	}
	word := text[strings.LastIndexAny(text, " \t")+1:]
	letters := 0
	for _, r := range word {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsDigit(r):
			return false
		}
	}
	return letters >= 3
}

// isNoteMark reports whether a text is a number of up to three digits.
func isNoteMark(text string) bool {
	if text == "" || len(text) > 3 {
		return false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

func (w *lineWriter) link(from, to int, target string) {
	if n := len(w.ranges); n > 0 && w.ranges[n-1].target == target && strings.TrimSpace(w.text.String()[w.ranges[n-1].to:from]) == "" {
		w.ranges[n-1].to = to
		return
	}
	w.ranges = append(w.ranges, linked{from, to, target})
}

// squeeze replaces each run of white space by a blank.
func squeeze(text string) string {
	if !strings.Contains(text, "  ") {
		return text
	}
	return strings.Join(strings.Fields(text), " ")
}
