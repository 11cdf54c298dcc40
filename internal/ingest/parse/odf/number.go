package odf

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// listLevel is a level of a list style.
type listLevel struct {
	isDefined, isNumbered  bool
	start                  int
	format, prefix, suffix string // of the number: "1", "a", "A", "i" or "I"
	display                int    // how many levels of numbers are shown
}

// maxListLevel is how many levels a list style has.
const maxListLevel = 10

type listStyle [maxListLevel]listLevel

// read reads the levels of a list style.
func (l *listStyle) read(w *walker, s *xmlscan.Scanner) error {
	return w.each(s, func() error {
		level, err := strconv.Atoi(s.Attr("level"))
		if err == nil && level >= 1 && level <= maxListLevel {
			made := listLevel{isDefined: true, start: 1, display: 1, prefix: s.Attr("num-prefix"), suffix: s.Attr("num-suffix")}
			if s.Name() == "list-level-style-number" || s.Name() == "outline-level-style" {
				made.format = s.Attr("num-format")
				made.isNumbered = made.format != ""
			}
			if start, err := strconv.Atoi(s.Attr("start-value")); err == nil && start >= 0 {
				made.start = start
			}
			if display, err := strconv.Atoi(s.Attr("display-levels")); err == nil && display >= 1 {
				made.display = min(display, level)
			}
			l[level-1] = made
		}
		return w.skip(s)
	})
}

// maxLabel is the longest number before a heading, in bytes.
const maxLabel = 40

// label returns the formatted number of a level, from 1. The function returns the current number of a level.
func (l *listStyle) label(level int, current func(level int) int) string {
	at := &l[level-1]
	if !at.isNumbered {
		return ""
	}
	var parts []string
	for i := level - at.display + 1; i <= level; i++ {
		if l[i-1].isNumbered {
			parts = append(parts, spell(current(i), l[i-1].format))
		}
	}
	label := strings.Join(strings.Fields(at.prefix+strings.Join(parts, ".")+at.suffix), " ")
	if len(label) > maxLabel {
		return ""
	}
	return label
}

// spell formats a number (ODF 1.2 part 1, section 19.500). Unknown formats are decimal.
func spell(number int, format string) string {
	switch {
	case (format == "a" || format == "A") && number > 0 && number < 1000:
		letters := columnName(number)
		if format == "a" {
			letters = strings.ToLower(letters)
		}
		return letters
	case (format == "i" || format == "I") && number > 0 && number < 4000:
		if format == "i" {
			return wordmodel.Roman(number)
		}
		return strings.ToUpper(wordmodel.Roman(number))
	}
	return strconv.Itoa(number)
}

// outlineNumber counts a heading and returns its number as text, "" for none.
func (w *walker) outlineNumber(s *xmlscan.Scanner, style *style, level int) string {
	if level > maxListLevel || s.Attr("is-list-header") == "true" || style.hasList && style.list == "" {
		return ""
	}
	at := &w.outline[level-1]
	outline := &w.r.styles.outline
	start, err := strconv.Atoi(s.Attr("start-value"))
	switch {
	case s.Attr("restart-numbering") == "true" && err == nil && start >= 0:
		*at = start
	case *at == 0 || s.Attr("restart-numbering") == "true":
		*at = outline[level-1].start
	default:
		*at++
	}
	for i := level; i < maxListLevel; i++ {
		w.outline[i] = 0
	}
	return outline.label(level, func(level int) int { return max(w.outline[level-1], outline[level-1].start) })
}

// itemNumber is outlineNumber for a heading that is a list item.
func (w *walker) itemNumber() string {
	i := &w.items[len(w.items)-1]
	if i.isMarked || !i.isNumbered || i.level > maxListLevel {
		return ""
	}
	found := w.r.styles.listStyle(w.list.style)
	if found == nil {
		return ""
	}
	label := found.label(i.level, func(level int) int {
		if level == i.level {
			return w.list.numbers[level-1]
		}
		return max(w.list.numbers[level-1]-1, 1)
	})
	i.isMarked = true
	w.list.numbers[i.level-1]++
	return label
}
