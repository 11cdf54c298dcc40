package rtf

import (
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// Code pages that Windows does not number, and UTF-8.
const (
	pageWestern = 1252
	pageUTF8    = 65001
	// pageSymbol and pageDingbats are symbol fonts.
	pageSymbol   = -1
	pageDingbats = -2
)

// Values of \fcharset without a code page of their own.
const (
	charsetANSI    = 0
	charsetDefault = 1
	charsetSymbol  = 2
)

// pageOfCharset returns the code page of a value of \fcharset, or 0.
func pageOfCharset(charset int) int {
	switch charset {
	case 77:
		return 10000
	case 78, 128:
		return 932
	case 79, 129, 130:
		return 949
	case 80, 134:
		return 936
	case 81, 136:
		return 950
	case 85, 161:
		return 1253
	case 86, 162:
		return 1254
	case 83, 177, 181:
		return 1255
	case 84, 178, 179, 180:
		return 1256
	case 87, 222:
		return 874
	case 88, 238:
		return 1250
	case 89:
		return 10007
	case 163:
		return 1258
	case 186:
		return 1257
	case 204:
		return 1251
	case 254:
		return 437
	case 255:
		return 850
	}
	return 0
}

// font is an entry of the font table.
type font struct {
	name       []byte
	isComplete bool // the name is complete
	charset    int
	page       int // of \cpg, 0 for none
	isMono     bool
	// textPage is the code page of text in the font, if isResolved is set.
	textPage   int
	isResolved bool
}

func newFont() *font { return &font{charset: charsetDefault} }

// codePage returns the code page of a font, which may be nil.
func (r *reader) codePage(f *font) int {
	switch {
	case f == nil:
		return r.page
	case !f.isResolved:
		f.textPage, f.isResolved = r.resolvePage(f), true
	}
	return f.textPage
}

func (r *reader) resolvePage(f *font) int {
	switch {
	case f.charset == charsetSymbol && f.page == 0:
		switch name := strings.ToLower(string(f.name)); {
		case strings.HasPrefix(name, "symbol"):
			return pageSymbol
		case strings.HasPrefix(name, "wingdings"), strings.HasPrefix(name, "webdings"), strings.Contains(name, "dingbats"), strings.HasPrefix(name, "marlett"):
			return pageDingbats
		}
		return pageWestern
	case f.page != 0:
		return f.page
	case f.charset == charsetANSI && (r.page == pageWestern || r.declares(r.page)):
		return pageWestern
	}
	if page := pageOfCharset(f.charset); page != 0 {
		return page
	}
	return r.page
}

// declares reports whether a font has the charset of a code page. Simple programs write all fonts as ANSI. If no font
// declares the code page of the document, ANSI fonts have that.
func (r *reader) declares(page int) bool {
	if r.declared == nil {
		r.declared = make(map[int]bool)
		for _, f := range r.fonts {
			r.declared[pageOfCharset(f.charset)] = true
		}
	}
	return r.declared[page]
}

// decode returns text in a code page as UTF-8. Raw bytes, which are not escaped as they should be, are read as UTF-8 if
// they are valid.
func decode(page int, text []byte, raw bool) string {
	switch page {
	case pageSymbol:
		return symbols("symbol", text)
	case pageDingbats:
		return symbols("wingdings", text)
	}
	if isASCII(text) {
		return string(text)
	}
	if raw && page != 932 && page != 936 && page != 949 && page != 950 && utf8.Valid(text) {
		page = pageUTF8
	}
	return cfb.Decode(page, text)
}

func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// symbols returns the text of characters in a symbol font.
func symbols(font string, text []byte) string {
	var b strings.Builder
	for _, c := range text {
		b.WriteString(wordmodel.SymbolText(font, rune(c)))
	}
	return b.String()
}
