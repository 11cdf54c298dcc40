package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A block is a heading (level 1 to 6) or a paragraph (level 0) of a document.
type block struct {
	level int
	text  string
}

// A document is a file of prose.
type document struct {
	// collection is the package or corpus of the file.
	collection string
	// parallel is the same for documents that are translations of each other; "" for none.
	parallel string
	language string
	blocks   []block
}

// A pair is two texts with the same meaning or topic.
type pair struct {
	kind        kind
	left, right string
	// from and to are the languages of left and right; "" is that of the file, and English for the left of a message.
	from, to string
}

type kind uint8

const (
	kindGloss       kind = iota // a word and its meaning
	kindSynonym                 // words of one meaning
	kindTranslation             // a word in two languages
	kindMessage                 // a sentence or paragraph in two languages
	kindHeading                 // a heading and the text below it
	kindNext                    // neighbouring passages
	kindCloze                   // a sentence and its passage without it
	kindCount
)

func (k kind) String() string {
	return [...]string{"gloss", "synonym", "translation", "message", "heading", "next", "cloze"}[k]
}

// A reading is the content of one file.
type reading struct {
	documents []document
	pairs     []pair
}

// isProse reports whether text is prose, not a table, code or a list of names.
func isProse(text string) bool {
	letters, others, words := 0, 0, 1
	for _, r := range text {
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
			letters++
			if r >= 0x2E80 {
				words++
			}
		case r == ' ':
			words++
		default:
			others++
		}
	}
	return words >= 6 && letters >= 4*others
}

// squeeze joins runs of white space into one space.
func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }

// passages calls f for passages of up to about 900 characters with their headings.
func (d *document) passages(f func(headings []string, text string)) {
	var headings [7]string
	var text strings.Builder
	flush := func() {
		if text.Len() == 0 {
			return
		}
		var above []string
		for _, heading := range headings {
			if heading != "" {
				above = append(above, heading)
			}
		}
		f(above, text.String())
		text.Reset()
	}
	for _, b := range d.blocks {
		if b.level > 0 {
			flush()
			headings[b.level] = b.text
			clear(headings[b.level+1:])
			continue
		}
		if !isProse(b.text) {
			continue
		}
		if text.Len() > 0 && text.Len()+len(b.text) > 900 {
			flush()
		}
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(b.text)
	}
	flush()
}

// sentences splits a passage into sentences and joins short ones.
func sentences(text string) []string {
	var found []string
	start := 0
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		switch r {
		case '.', '!', '?', ';':
			if end < len(text) && text[end] != ' ' && text[end] != '\n' {
				continue
			}
		case '\n', '。', '！', '？':
		default:
			continue
		}
		if end-start >= 40 {
			found = append(found, text[start:end])
			start = end
		}
	}
	if len(text)-start >= 20 {
		found = append(found, text[start:])
	}
	return found
}
