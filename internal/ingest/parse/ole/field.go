package ole

import "strings"

// field is a field (MS-DOC 2.8.25): a code, and what it gave when it was last computed.
type field struct {
	code   []byte
	result bool // the result is being read, no longer the code
	link   string
	page   bool // the result is a page number
	toc    bool // the result is a table of contents
	shown  string
}

const (
	// maxFields is how deep fields may stand in fields; a file with more has lost the ends of them.
	maxFields = 50
	// maxCode is the longest code that is kept, in bytes.
	maxCode = 8 << 10
)

// fields are the fields that are open, from the outermost.
type fields struct {
	open  []field
	codes int // how many of them are in their code
}

func (f *fields) last() *field {
	if len(f.open) == 0 {
		return nil
	}
	return &f.open[len(f.open)-1]
}

func (f *fields) begin() {
	if len(f.open) >= maxFields {
		f.open, f.codes = f.open[:0], 0
	}
	f.open = append(f.open, field{})
	f.codes++
}

// inCode tells whether what is read is a code, and keeps it.
func (f *fields) inCode(r rune) bool {
	if f.codes == 0 {
		return false
	}
	if last := f.last(); !last.result && len(last.code) < maxCode {
		last.code = append(last.code, string(r)...)
	}
	return true
}

// separate goes on from the code of the innermost field to its result.
func (f *fields) separate() {
	if last := f.last(); last != nil && !last.result {
		last.result = true
		f.codes--
		last.interpret()
	}
}

// end closes the innermost field and returns what it shows where it has no result.
func (f *fields) end() (shown string) {
	last := f.last()
	if last == nil {
		return ""
	}
	if !last.result {
		f.codes--
		last.interpret()
		shown = last.shown
	}
	f.open = f.open[:len(f.open)-1]
	if f.codes > 0 {
		return ""
	}
	return shown
}

// settle ends the codes that a paragraph has left open: one whose end is missing must not swallow the rest of the document.
func (f *fields) settle() {
	if f.codes == 0 {
		return
	}
	kept := f.open[:0]
	for _, open := range f.open {
		if open.result {
			kept = append(kept, open)
		}
	}
	f.open, f.codes = kept, 0
}

// interpret reads the code.
func (f *field) interpret() {
	words := fieldWords(string(f.code))
	f.code = nil
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
			f.shown = clean(strings.Join(words[2:], " "))
		}
	case "SYMBOL":
		f.shown = fieldSymbol(words[1:])
	}
}

// fieldSymbol returns what a SYMBOL field shows: the number of a character, and its font.
func fieldSymbol(words []string) string {
	if len(words) == 0 {
		return ""
	}
	code := rune(0)
	for _, digit := range strings.TrimSpace(words[0]) {
		if digit < '0' || digit > '9' || code > 0xFFFF {
			return ""
		}
		code = code*10 + digit - '0'
	}
	for i, word := range words {
		if strings.EqualFold(word, `\f`) && i+1 < len(words) {
			return symbolText(words[i+1], code)
		}
	}
	if code < ' ' || code >= 0xD800 && code <= 0xF8FF {
		return ""
	}
	return string(code)
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
