package ooxml

import (
	"strings"
)

// field is a field of a Word document (ECMA-376 part 1, 17.16): a code, and what it gave when it was last computed.
type field struct {
	code   []byte
	result bool   // the result is being read, no longer the code
	link   string // address that the result links to
	page   bool   // the result is a page number
	toc    bool   // the result is a table of contents
	form   string // what a form field shows that has no result
	since  int    // how much the story had written when the result began
}

const (
	// maxFields is how deep fields may stand in fields; a file with more has lost the ends of them.
	maxFields = 500
	// maxCode is the longest code that is kept, in bytes.
	maxCode = 8 << 10
)

// interpret reads the code.
func (f *field) interpret() {
	words := fieldWords(string(f.code))
	if len(words) == 0 {
		return
	}
	switch strings.ToUpper(words[0]) {
	case "HYPERLINK":
		for i := 1; i < len(words); i++ {
			switch word := words[i]; {
			case strings.EqualFold(word, `\l`), strings.EqualFold(word, `\o`), strings.EqualFold(word, `\t`):
				i++ // a place in the document, a hint, a window
			case strings.HasPrefix(word, `\`):
			case f.link == "":
				f.link = webLink(word)
			}
		}
	case "PAGE", "NUMPAGES", "SECTIONPAGES", "SECTION":
		f.page = true
	case "TOC":
		f.toc = true
	case "MACROBUTTON":
		if len(words) > 2 {
			f.form = strings.Join(words[2:], " ")
		}
	}
}

// fieldWords splits a code at its blanks, those in quotation marks apart.
func fieldWords(code string) []string {
	var words []string
	for code = strings.TrimSpace(code); code != "" && len(words) < 100; code = strings.TrimSpace(code) {
		if code[0] == '"' {
			word, rest, _ := strings.Cut(code[1:], `"`)
			words, code = append(words, strings.ReplaceAll(word, `\\`, `\`)), rest
			continue
		}
		end := strings.IndexAny(code, " \t\n\"")
		if end <= 0 {
			end = len(code)
		}
		words, code = append(words, code[:end]), code[end:]
	}
	return words
}

// fields are the fields that are open, from the outermost.
type fields struct {
	open  []field
	codes int // how many of them are in their code
}

func (f *fields) begin(form string) {
	if len(f.open) >= maxFields {
		f.open, f.codes = f.open[:0], 0
	}
	f.open = append(f.open, field{form: form})
	f.codes++
}

// last returns the innermost field, nil when none is open.
func (f *fields) last() *field {
	if len(f.open) == 0 {
		return nil
	}
	return &f.open[len(f.open)-1]
}

// separate goes on from the code of the innermost field to its result.
func (f *fields) separate(written int) {
	if last := f.last(); last != nil && !last.result {
		last.result, last.since = true, written
		f.codes--
		last.interpret()
	}
}

// end closes the innermost field and returns what it shows where it has no result.
func (f *fields) end(written int) (text string) {
	last := f.last()
	if last == nil {
		return ""
	}
	switch {
	case !last.result:
		f.codes--
		last.interpret()
		text = last.form
	case last.since == written:
		text = last.form
	}
	f.open = f.open[:len(f.open)-1]
	if f.codes > 0 {
		return ""
	}
	return text
}

// settle ends what a paragraph has left open, from the field that was the first to begin in it: one whose end is missing
// must not swallow the rest of the document.
func (f *fields) settle(from int) {
	kept := f.open[:min(from, len(f.open))]
	for _, open := range f.open[len(kept):] {
		switch {
		case !open.result:
			f.codes--
		case !open.page:
			open.link = ""
			kept = append(kept, open)
		}
	}
	f.open = kept
}

// link returns the address of the innermost field that is a link.
func (f *fields) link() string {
	for i := len(f.open) - 1; i >= 0; i-- {
		if f.open[i].link != "" {
			return f.open[i].link
		}
	}
	return ""
}

// page tells whether what is read is a page number.
func (f *fields) page() bool {
	for i := range f.open {
		if f.open[i].page {
			return true
		}
	}
	return false
}

// toc tells whether what is read is a table of contents.
func (f *fields) toc() bool {
	for i := range f.open {
		if f.open[i].toc {
			return true
		}
	}
	return false
}
