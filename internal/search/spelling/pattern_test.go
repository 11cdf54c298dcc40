package spelling_test

import (
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/search/spelling"
)

// naive is Pattern.Distance by its definition.
func naive(word, term string, prefix bool) (int, bool) {
	errors, ok := spelling.Errors(word)
	if !ok {
		return 0, false
	}
	if _, ok := spelling.Errors(term); !ok {
		return 0, false
	}
	w, t := []rune(spelling.Unmark(word)), []rune(spelling.Unmark(term))
	if w[0] != t[0] {
		return 0, false
	}
	best := spelling.Distance(string(w), string(t))
	if prefix {
		for i := range t {
			best = min(best, spelling.Distance(string(w), string(t[:i])))
		}
	} else {
		for i := max(4, len(w)-4); i < len(w); i++ {
			best = min(best, 1+spelling.Distance(string(w[:i]), string(t)))
		}
	}
	return best, best <= errors
}

func TestPatternsMeasureDistancesByTheirDefinition(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, alphabet := range []string{"abc", "аби", "αβγ", "नमसकारी", "ابتث", "aăâbđ", "ab1-"} {
		letters := []rune(alphabet)
		word := func() string {
			var out []rune
			for range 1 + random.IntN(10) {
				out = append(out, letters[random.IntN(len(letters))])
			}
			return string(out)
		}
		found := 0
		for range 40_000 {
			w, term, prefix := word(), word(), random.IntN(3) == 0
			want, wantOK := naive(w, term, prefix)
			p, ok := spelling.NewPattern(w, []string{w}, prefix)
			if !ok {
				if wantOK {
					t.Fatalf("NewPattern(%q) reports false", w)
				}
				continue
			}
			got, gotOK := p.Distance(term)
			if gotOK != wantOK || gotOK && got != want {
				t.Fatalf("Distance(%q) of %q, prefix %v = %d, %v, want %d, %v", term, w, prefix, got, gotOK, want, wantOK)
			}
			if gotOK {
				found++
				inside := false
				for _, r := range p.Ranges() {
					inside = inside || r.From <= term && term < r.To
				}
				if !inside {
					t.Fatalf("no range of %q has %q", w, term)
				}
			}
		}
		if found == 0 && alphabet != "ab1-" {
			t.Errorf("no term is near in %q", alphabet)
		}
	}
}

func TestTheNumberOfErrorsDependsOnLengthAndScript(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]int{
		"abc": 0, "file": 1, "playbok": 1, "inventry": 2, "файл": 1, "инвентрь": 2, "αρχείο": 1, "كتاب": 0, "كتابه": 0, "مستودع": 1, "מחשבים": 1,
		"किताब": 1, "v1": -1, "dry-run": -1, "日本語": -1, "ภาษา": -1, "서버": -1, "fileфайл": -1, "": -1,
	} {
		got, ok := spelling.Errors(word)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("Errors(%q) = %d, want %d", word, got, want)
		}
	}
}

func TestTonesAreNoErrors(t *testing.T) {
	t.Parallel()
	for word, term := range map[string]string{"noi": "nội", "do": "đô", "ha": "hà", "an": "ăn"} {
		p, ok := spelling.NewPattern(word, []string{word}, false)
		if !ok {
			t.Fatalf("NewPattern(%q) reports false", word)
		}
		if d, ok := p.Distance(term); d != 0 || !ok {
			t.Errorf("Distance(%q) of %q = %d, %v", term, word, d, ok)
		}
	}
}

func FuzzPatternsAcceptAnyText(f *testing.F) {
	f.Add("playbok", "playbook", false)
	f.Add("thu đô", "\xff", true)
	f.Fuzz(func(t *testing.T, word, term string, prefix bool) {
		p, ok := spelling.NewPattern(word, []string{word, term}, prefix)
		if !ok {
			return
		}
		if d, ok := p.Distance(term); ok && (d < 0 || d > 2 || !utf8.ValidString(term)) {
			t.Errorf("Distance(%q) of %q = %d", term, word, d)
		}
	})
}
