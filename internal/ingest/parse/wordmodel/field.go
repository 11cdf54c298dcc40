package wordmodel

import "strings"

const (
	// maxFields is how deep fields may be nested. In a file with more, the ends of fields are missing.
	maxFields = 500
	// maxCodeBytes is the longest field code that is kept.
	maxCodeBytes = 8 << 10
)

// field is a field (ECMA-376 part 1, 17.16): a code, and the result that it gave when it was last computed.
type field struct {
	code     []byte
	inResult bool // the result is being read, not the code
	// link is the address of a link. isPage is set if the result is a page number, isContents if it is a table of contents.
	link               string
	isPage, isContents bool
	// substitute is the text for a field without a result. written is how much text there was when the result began.
	substitute string
	written    int
}

// Fields are the fields that are open at a point of the text. The zero value has none.
type Fields struct {
	open  []field // from the outermost
	codes int     // how many of them are in their code
}

// Begin opens a field. The substitute is its text if it has no result.
func (f *Fields) Begin(substitute string) {
	if len(f.open) >= maxFields {
		f.open, f.codes = f.open[:0], 0
	}
	f.open = append(f.open, field{substitute: substitute})
	f.codes++
}

func (f *Fields) last() *field {
	if len(f.open) == 0 {
		return nil
	}
	return &f.open[len(f.open)-1]
}

// Depth returns the number of open fields.
func (f *Fields) Depth() int { return len(f.open) }

// InCode reports whether the text is part of a field code.
func (f *Fields) InCode() bool { return f.codes > 0 }

// AppendCode appends text to the code of the innermost field, if that is in its code.
func (f *Fields) AppendCode(text []byte) {
	if last := f.last(); last != nil && !last.inResult {
		last.code = append(last.code, text[:min(len(text), maxCodeBytes-len(last.code))]...)
	}
}

// Separate ends the code of the innermost field and begins its result. The argument is how much text the reader has written.
func (f *Fields) Separate(written int) {
	if last := f.last(); last != nil && !last.inResult {
		last.inResult, last.written = true, written
		f.codes--
		last.interpret()
	}
}

// End closes the innermost field. It returns the text for a field without a result. The argument is how much text the reader has
// written.
func (f *Fields) End(written int) string {
	last := f.last()
	if last == nil {
		return ""
	}
	text := ""
	switch {
	case !last.inResult:
		f.codes--
		last.interpret()
		text = last.substitute
	case last.written == written:
		text = last.substitute
	}
	f.open = f.open[:len(f.open)-1]
	if f.codes > 0 {
		return ""
	}
	return text
}

// DropCodes closes the fields that are in their code. A paragraph ends them: a field whose end is missing must not swallow the
// rest of the document.
func (f *Fields) DropCodes() {
	if f.codes == 0 {
		return
	}
	kept := f.open[:0]
	for _, open := range f.open {
		if open.inResult {
			kept = append(kept, open)
		}
	}
	f.open, f.codes = kept, 0
}

// EndParagraph closes the fields that a paragraph has left open, of which depth were open at its beginning. Fields in their
// result stay open, but are neither links nor page numbers any more.
func (f *Fields) EndParagraph(depth int) {
	kept := f.open[:min(depth, len(f.open))]
	for _, open := range f.open[len(kept):] {
		switch {
		case !open.inResult:
			f.codes--
		case !open.isPage:
			open.link = ""
			kept = append(kept, open)
		}
	}
	f.open = kept
}

// Link returns the address of the innermost field that is a link, or "".
func (f *Fields) Link() string {
	for i := len(f.open) - 1; i >= 0; i-- {
		if f.open[i].link != "" {
			return f.open[i].link
		}
	}
	return ""
}

// InPageNumber reports whether the text is a page number.
func (f *Fields) InPageNumber() bool {
	for i := range f.open {
		if f.open[i].isPage {
			return true
		}
	}
	return false
}

// InContents reports whether the text is part of a table of contents.
func (f *Fields) InContents() bool {
	for i := range f.open {
		if f.open[i].isContents {
			return true
		}
	}
	return false
}

// interpret evaluates the code.
func (f *field) interpret() {
	code := ParseFieldCode(string(f.code))
	f.code = nil
	switch {
	case code.name == "TOC":
		f.isContents = true
	case code.IsPageNumber():
		f.isPage = true
	case code.name == "MACROBUTTON" && len(code.args) > 1:
		f.substitute = strings.Join(code.args[1:], " ")
	case code.name == "SYMBOL":
		f.substitute = code.symbol()
	}
	addresses, _ := code.Hyperlink()
	for _, address := range addresses {
		if f.link = WebLink(address); f.link != "" {
			break
		}
	}
}

// FieldCode is a parsed field code.
type FieldCode struct {
	name string // in upper case
	args []string
}

// ParseFieldCode splits a field code at its blanks. Quoted arguments may contain blanks.
func ParseFieldCode(code string) FieldCode {
	const maxWords = 100
	var words []string
	for code = strings.TrimSpace(code); code != "" && len(words) < maxWords; code = strings.TrimSpace(code) {
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
	if len(words) == 0 {
		return FieldCode{}
	}
	return FieldCode{name: strings.ToUpper(words[0]), args: words[1:]}
}

// IsPageNumber reports whether the field is the number of a page or section, or their count.
func (c FieldCode) IsPageNumber() bool {
	switch c.name {
	case "PAGE", "NUMPAGES", "SECTIONPAGES", "SECTION":
		return true
	}
	return false
}

// Hyperlink returns the arguments of a HYPERLINK field that may be its address, and the place in the document that it leads to.
// There are none for other fields.
func (c FieldCode) Hyperlink() (addresses []string, place string) {
	if c.name != "HYPERLINK" {
		return nil, ""
	}
	for i := 0; i < len(c.args); i++ {
		switch arg := c.args[i]; {
		case strings.EqualFold(arg, `\l`):
			if i++; i < len(c.args) {
				place = c.args[i]
			}
		case strings.EqualFold(arg, `\o`), strings.EqualFold(arg, `\t`):
			i++ // a tooltip, a window
		case !strings.HasPrefix(arg, `\`):
			addresses = append(addresses, arg)
		}
	}
	return addresses, place
}

// symbol returns the text of a SYMBOL field: the number of a character, and its font.
func (c FieldCode) symbol() string {
	if len(c.args) == 0 {
		return ""
	}
	code := rune(0)
	for _, digit := range strings.TrimSpace(c.args[0]) {
		if digit < '0' || digit > '9' || code > 0xFFFF {
			return ""
		}
		code = code*10 + digit - '0'
	}
	for i, arg := range c.args {
		if strings.EqualFold(arg, `\f`) && i+1 < len(c.args) {
			return SymbolText(c.args[i+1], code)
		}
	}
	if code < ' ' || code >= 0xD800 && code <= 0xF8FF {
		return ""
	}
	return string(code)
}
