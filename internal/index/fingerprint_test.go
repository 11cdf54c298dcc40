package index_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
)

// print returns the fingerprint of a text as a body, added in the order of its words or
// from the end.
func print(text string, backwards bool) index.Fingerprint {
	var f index.Fingerprinter
	tokens := analysis.New().Tokens(text, "en")
	seen := make(map[string]bool)
	for i := range tokens {
		token := tokens[i]
		if backwards {
			token = tokens[len(tokens)-1-i]
		}
		h := index.HashTerm([]byte(token.Term))
		f.Add(h, uint16(1024+token.Position))
		if !seen[token.Term] {
			seen[token.Term] = true
			f.AddDistinct(h)
		}
	}
	return f.Sum()
}

func TestFingerprintsOfTexts(t *testing.T) {
	t.Parallel()
	var words []string
	for i := range 600 { // more than a lane counts to
		words = append(words, fmt.Sprintf("word%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i*7%26))
	}
	text := strings.Join(words, " ")
	first := print(text, false)
	if again := print(strings.ToUpper(strings.ReplaceAll(text, " ", ",\n ")), true); again != first {
		t.Errorf("case, white space and the order of calls count: %x, %x", first, again)
	}
	for name, x := range map[string]struct {
		text        string
		least, most int
	}{
		"another order":      {strings.Join(append(words[300:], words[:300]...), " "), 0, 0},
		"another number":     {text + " 3.14", 0, 0},
		"one word in twenty": {strings.Join(words[:570], " "), 0, 9},
		"half of the words":  {strings.Join(words[:300], " "), 8, 25},
		"unrelated":          {strings.ReplaceAll(text, "word", "term"), 16, 48},
	} {
		other := print(x.text, false)
		if d := first.Distance(&other); d < x.least || d > x.most {
			t.Errorf("%s: a distance of %d, want %d to %d", name, d, x.least, x.most)
		}
		if other.Body == first.Body {
			t.Errorf("%s: the same text", name)
		}
	}
}
