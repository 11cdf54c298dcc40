package odf

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

const (
	// maxIndented is how many levels of a list are indented, maxItems how many items may be nested.
	maxIndented = 12
	maxItems    = 100
)

// numbering holds the next number of each level of a list.
type numbering [maxListLevel]int

// An item is an open list item.
type item struct {
	isNumbered  bool
	isMarked    bool // its marker has been written
	lead, inner int  // indentation of its marker and of its text
	level       int  // from 1
}

// listing is the state of the lists in one flow.
type listing struct {
	style       string
	numbers     *numbering
	isContinued bool
	level       int              // of the current list
	inner       [maxIndented]int // indentation of the text of the last item of each level
}

// readList reads a list. Programs split lists: one that continues an earlier one, or starts at an inner level, is
// joined with the list before it.
func (w *walker) readList(s *xmlscan.Scanner) error {
	outer := w.list
	l := &w.list
	l.level++
	if name := s.Attr("style-name"); name != "" {
		l.style = name
	}
	isContinued := s.Attr("continue-numbering") == "true"
	if outer.level == 0 {
		w.beginList(s, isContinued)
	}
	level := w.r.styles.listLevel(l.style, l.level)
	next := &l.numbers[min(l.level, maxListLevel)-1]
	isNested := len(w.items) == 0 || !w.items[len(w.items)-1].isMarked
	if *next == 0 || !isContinued && (!isNested || !l.isContinued) {
		*next = level.start
	}
	err := w.each(s, func() error {
		switch s.Name() {
		case "list-item", "list-header":
		case "soft-page-break":
			return w.textElement(s)
		default:
			return w.skip(s)
		}
		if start, err := strconv.Atoi(s.Attr("start-value")); err == nil && start >= 0 {
			*next = start
		}
		return w.listItem(s, level.isNumbered, s.Name() == "list-header")
	})
	l.level, l.style = outer.level, outer.style
	return err
}

// beginList sets the numbers of an outermost list.
func (w *walker) beginList(s *xmlscan.Scanner, isContinued bool) {
	l := &w.list
	l.numbers, l.isContinued = nil, false
	if id := s.Attr("continue-list"); id != "" {
		l.numbers = w.numbers["#"+id]
	} else if isContinued {
		l.numbers = w.numbers[l.style]
	}
	l.isContinued = l.numbers != nil
	if l.numbers == nil {
		l.numbers = new(numbering)
	}
	w.numbers[l.style] = l.numbers
	if id := s.Attr("id"); id != "" {
		w.numbers["#"+id] = l.numbers
	}
}

func (w *walker) listItem(s *xmlscan.Scanner, isNumbered, isHeader bool) error {
	if len(w.items) >= maxItems {
		text, err := w.flat(s)
		w.emit(document.Block{Kind: document.Paragraph, Text: text})
		return err
	}
	made := item{isNumbered: isNumbered, isMarked: isHeader, level: w.list.level}
	if n := len(w.items); n > 0 {
		above := &w.items[n-1]
		made.lead = above.inner
		if before := w.list.inner[min(above.level, maxIndented)-1]; !above.isMarked && before > 0 {
			made.lead = before
		}
	}
	if n := len(w.items); made.level > maxIndented && n > 0 {
		made.lead = w.items[n-1].lead
	}
	made.inner = made.lead + len(w.marker(&made))
	w.items = append(w.items, made)
	err := w.flow(s)
	w.items = w.items[:len(w.items)-1]
	return err
}

// marker returns the marker of an item.
func (w *walker) marker(i *item) string {
	if !i.isNumbered {
		return "- "
	}
	return strconv.Itoa(w.list.numbers[min(i.level, maxListLevel)-1]) + ". "
}

// itemLines adds the lines of a paragraph to the current list.
func (w *walker) itemLines(text string, page int) {
	i := &w.items[len(w.items)-1]
	if i.level == 1 && !i.isMarked && !w.list.isContinued {
		w.flush() // a different list
	}
	w.list.isContinued = true
	indent, marker := i.inner, ""
	if !i.isMarked {
		i.isMarked = true
		marker = w.marker(i)
		if i.isNumbered {
			w.list.numbers[min(i.level, maxListLevel)-1]++
		}
		indent, i.inner = i.lead, i.lead+len(marker)
	}
	w.list.inner[min(i.level, maxIndented)-1] = i.inner
	for line := range strings.SplitSeq(text, "\n") {
		w.extend(document.List, "\n", strings.Repeat(" ", indent)+marker+line, page)
		indent, marker = i.inner, ""
	}
}

// numberedParagraph reads a list item outside of a list.
func (w *walker) numberedParagraph(s *xmlscan.Scanner) error {
	outer := w.list
	level, err := strconv.Atoi(s.Attr("level"))
	if err != nil {
		level = 1
	}
	w.list.level = min(max(level, 1), maxListLevel)
	if name := s.Attr("style-name"); name != "" {
		w.list.style = name
	}
	w.beginList(s, true)
	style := w.r.styles.listLevel(w.list.style, w.list.level)
	next := &w.list.numbers[w.list.level-1]
	if start, err := strconv.Atoi(s.Attr("start-value")); err == nil && start >= 0 {
		*next = start
	} else if *next == 0 {
		*next = style.start
	}
	made := item{isNumbered: style.isNumbered, level: w.list.level, lead: 2 * (w.list.level - 1)}
	made.inner = made.lead + len(w.marker(&made))
	w.items = append(w.items, made)
	w.list.isContinued = true
	err = w.flow(s)
	w.items = w.items[:len(w.items)-1]
	w.list.level, w.list.style = outer.level, outer.style
	return err
}

// dedent removes the indentation that all lines have. A list may start at an inner level.
func dedent(text string) string {
	common := len(text)
	for line := range strings.Lines(text) {
		common = min(common, len(line)-len(strings.TrimLeft(line, " ")))
	}
	if common == 0 || common == len(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		b.WriteString(line[min(common, len(line)):])
	}
	return b.String()
}
