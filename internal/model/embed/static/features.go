package static

import (
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis"
)

// A Feature is a term of a text, or a single character of a script without spaces between words.
type Feature struct {
	// Term is the normalized form. It may share memory with the text.
	Term string
	// Whole marks a compound whose parts are features, too.
	Whole bool
}

// A Reader finds the features of texts. It is not safe for concurrent use.
type Reader struct {
	analyzer *analysis.Analyzer
	tokens   []analysis.Token
	features []Feature
}

// NewReader returns a reader. The analyzer may be shared.
func NewReader(analyzer *analysis.Analyzer) *Reader { return &Reader{analyzer: analyzer} }

// Features returns the features of a text in order. They are valid until the next call.
func (r *Reader) Features(text string) []Feature {
	r.tokens = r.analyzer.AppendTokens(r.tokens[:0], text, "")
	r.features = r.features[:0]
	for i, token := range r.tokens {
		if isWide(token.Term) {
			last := i+1 == len(r.tokens) || r.tokens[i+1].Start >= token.End
			r.addWide(token.Term, last)
			continue
		}
		whole := i+1 < len(r.tokens) && r.tokens[i+1].Position == token.Position
		r.features = append(r.features, Feature{Term: token.Term, Whole: whole})
	}
	return r.features
}

// isWide reports whether a term is two or more Chinese, Japanese or Korean characters.
func isWide(term string) bool {
	r, size := utf8.DecodeRuneInString(term)
	return len(term) > size && r >= 0x2E80
}

// addWide adds the pairs of characters of a term, and its characters: the table was
// trained on these. The last character is left to the next term unless last is set.
func (r *Reader) addWide(term string, last bool) {
	from := 0
	_, size := utf8.DecodeRuneInString(term)
	for middle := size; middle < len(term); middle += size {
		_, size = utf8.DecodeRuneInString(term[middle:])
		r.features = append(r.features, Feature{Term: term[from : middle+size]}, Feature{Term: term[from:middle]})
		from = middle
	}
	if last {
		r.features = append(r.features, Feature{Term: term[from:]})
	}
}
