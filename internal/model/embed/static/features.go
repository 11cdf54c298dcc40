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
		first, second, isPair := splitPair(token.Term)
		if isPair {
			r.features = append(r.features, Feature{Term: token.Term}, Feature{Term: first})
			if i+1 == len(r.tokens) || r.tokens[i+1].Start >= token.End {
				r.features = append(r.features, Feature{Term: second})
			}
			continue
		}
		whole := i+1 < len(r.tokens) && r.tokens[i+1].Position == token.Position
		r.features = append(r.features, Feature{Term: token.Term, Whole: whole})
	}
	return r.features
}

// splitPair splits a pair of characters of a script without spaces.
func splitPair(term string) (first, second string, ok bool) {
	if len(term) < 6 || term[0] < 0xE0 {
		return "", "", false
	}
	r, size := utf8.DecodeRuneInString(term)
	_, rest := utf8.DecodeRuneInString(term[size:])
	if r < 0x0E00 || size+rest != len(term) {
		return "", "", false
	}
	return term[:size], term[size:], true
}
