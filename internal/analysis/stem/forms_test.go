package stem_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/analysis/stem"
)

// Each file of testdata/forms has, for one language, lines of inflected forms of one
// word, which begin with =, and lines of two unrelated words, which begin with !.
func TestFormsOfAWordShareAStemAndOtherWordsDoNot(t *testing.T) {
	t.Parallel()
	for _, code := range stem.Codes() {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			s, ok := stem.For(code)
			if !ok {
				t.Fatalf("For(%q) reports no stemmer", code)
			}
			same, different := 0, 0
			for _, line := range lines(t, code) {
				words := strings.Fields(line)
				first := s.Stem(words[1])
				for _, word := range words[2:] {
					got := s.Stem(word)
					switch {
					case words[0] == "=" && got != first:
						t.Errorf("Stem(%q) = %q, want %q, the stem of %q", word, got, first, words[1])
					case words[0] == "!" && got == first:
						t.Errorf("Stem(%q) = %q, which is the stem of %q too", word, got, words[1])
					case words[0] == "=":
						same++
					default:
						different++
					}
				}
			}
			if same < 20 || different < 20 {
				t.Errorf("%d pairs share a stem and %d do not, want 20 of each", same, different)
			}
		})
	}
}

// lines returns the lines of the file of a language; languages that share a stemmer
// share a file.
func lines(t testing.TB, code string) []string {
	t.Helper()
	switch code {
	case "bs", "sr":
		code = "hr"
	case "ms":
		code = "id"
	}
	text, err := os.ReadFile(filepath.Join("testdata", "forms", code+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}
