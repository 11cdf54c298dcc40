package passage

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/clipperhouse/uax29/v2/sentences"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// A cutter collects ranges of a text. They are consecutive and leave out only white space.
type cutter struct {
	text   string
	opt    Options
	pieces []document.Span
}

func (c *cutter) add(start, end int) {
	for start < end {
		r, size := utf8.DecodeRuneInString(c.text[start:end])
		if r != '\n' {
			break
		}
		start += size
	}
	if end = trimEnd(c.text, start, end); start < end {
		c.pieces = append(c.pieces, document.Span{Start: start, End: end})
	}
}

// cutProse splits text into list items or lines, and long ones into sentences, words and runes.
func cutProse(text string, span document.Span, list bool, opt Options) []document.Span {
	c := cutter{text: text, opt: opt}
	start, at := span.Start, span.Start
	for line := range strings.Lines(text[span.Start:span.End]) {
		opens := !list || line[0] != ' ' && line[0] != '\n'
		if opens && at > start {
			c.lines(start, at, c.sentences)
			start = at
		}
		at += len(line)
	}
	c.lines(start, at, c.sentences)
	return c.pieces
}

// lines adds a range of lines if it is short. Else it adds each line, and splits those that are too long.
func (c *cutter) lines(start, end int, split func(start, end int)) {
	if c.fits(start, end, c.opt.Max/2) {
		c.add(start, end)
		return
	}
	at := start
	for line := range strings.Lines(c.text[start:end]) {
		if c.fits(at, at+len(line), c.opt.Max/2) {
			c.add(at, at+len(line))
		} else {
			split(at, at+len(line))
		}
		at += len(line)
	}
}

// fits reports whether a range has at most limit runes.
func (c *cutter) fits(start, end, limit int) bool {
	return end-start <= limit || end-start <= utf8.UTFMax*limit && utf8.RuneCountInString(c.text[start:end]) <= limit
}

func (c *cutter) sentences(start, end int) {
	from := start
	found := sentences.FromString(c.text[start:end])
	for found.Next() {
		to := start + found.End()
		if to < end && endsInAbbreviation(c.text[from:to]) {
			continue
		}
		c.sentence(from, to)
		from = to
	}
	c.sentence(from, end)
}

func (c *cutter) sentence(start, end int) {
	if c.fits(start, end, c.opt.Max) {
		c.add(start, end)
	} else {
		c.words(start, end)
	}
}

// endsInAbbreviation reports whether the sentence continues after its full stop.
func endsInAbbreviation(sentence string) bool {
	sentence = strings.TrimRightFunc(sentence, unicode.IsSpace)
	word := sentence[strings.LastIndexFunc(sentence, unicode.IsSpace)+1:]
	switch strings.ToLower(strings.TrimLeft(word, "(\"'")) {
	case "dr.", "mr.", "mrs.", "ms.", "prof.", "st.", "vs.", "e.g.", "i.e.", "etc.", "cf.", "no.", "fig.", "approx.", "ca.", "z.b.", "d.h.",
		"bzw.", "usw.", "nr.", "p.ej.", "p.ex.", "c.-à-d.", "env.", "inc.", "ltd.", "co.":
		return true
	}
	return false
}

// words splits at white space into ranges of about the target length.
func (c *cutter) words(start, end int) {
	from, size := start, 0
	at := start
	for at < end {
		wordEnd := at
		runes := 0
		blank := false
		for wordEnd < end {
			r, width := utf8.DecodeRuneInString(c.text[wordEnd:end])
			if blank && !unicode.IsSpace(r) {
				break
			}
			blank = blank || unicode.IsSpace(r)
			wordEnd += width
			runes++
		}
		if runes > c.opt.Max {
			c.add(from, at)
			c.characters(at, wordEnd)
			from, size = wordEnd, 0
		} else {
			if size > 0 && size+runes > c.opt.Target {
				c.add(from, at)
				from, size = at, 0
			}
			size += runes
		}
		at = wordEnd
	}
	c.add(from, end)
}

// characters splits a word between grapheme clusters, or inside a cluster that is longer than a passage.
func (c *cutter) characters(start, end int) {
	from, size := start, 0
	clusters := graphemes.FromString(c.text[start:end])
	for clusters.Next() {
		at := start + clusters.Start()
		runes := utf8.RuneCountInString(clusters.Value())
		if size > 0 && size+runes > c.opt.Target {
			c.add(from, at)
			from, size = at, 0
		}
		if runes > c.opt.Max {
			for i := range clusters.Value() {
				if size++; size > c.opt.Target {
					c.add(from, at+i)
					from, size = at+i, 1
				}
			}
			continue
		}
		size += runes
	}
	c.add(from, end)
}

// cutCode splits code at empty lines, long ranges into lines, and long lines anywhere.
func cutCode(text string, span document.Span, opt Options) []document.Span {
	c := cutter{text: text, opt: opt}
	start, at := span.Start, span.Start
	for line := range strings.Lines(text[span.Start:span.End]) {
		at += len(line)
		if strings.TrimSpace(line) == "" {
			c.lines(start, at, c.words)
			start = at
		}
	}
	c.lines(start, at, c.words)
	return c.pieces
}
