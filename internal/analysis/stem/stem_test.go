package stem_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/magpie-search/magpie/internal/analysis/stem"
)

func TestForKnowsTheLanguagesOfCodes(t *testing.T) {
	t.Parallel()
	codes := stem.Codes()
	if !slices.IsSorted(codes) {
		t.Errorf("Codes() = %q, want them sorted", codes)
	}
	for _, code := range codes {
		if _, ok := stem.For(code); !ok {
			t.Errorf("For(%q) reports no stemmer", code)
		}
	}
	if s, ok := stem.For("tlh"); ok || s.Stem("qapla") != "qapla" {
		t.Error(`For("tlh") has a stemmer that changes words`)
	}
}

// words returns the words of all languages' files of forms.
func words(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, code := range stem.Codes() {
		for _, line := range lines(t, code) {
			all = append(all, strings.Fields(line)[1:]...)
		}
	}
	return all
}

func TestAWordTypedWithoutDiacriticsHasTheSameStem(t *testing.T) {
	t.Parallel()
	letters := strings.NewReplacer("ł", "l", "đ", "d", "ı", "i")
	for _, code := range []string{"bs", "ca", "cs", "el", "fi", "hr", "pl", "ro", "sk", "tr"} {
		s, _ := stem.For(code)
		for _, line := range lines(t, code) {
			for _, word := range strings.Fields(line)[1:] {
				if unicode.Is(unicode.Cyrillic, []rune(word)[0]) {
					continue
				}
				plain := letters.Replace(strings.Map(func(r rune) rune {
					if unicode.Is(unicode.Mn, r) {
						return -1
					}
					return r
				}, norm.NFD.String(word)))
				if got, want := s.Stem(plain), s.Stem(word); got != want {
					t.Errorf("%s: Stem(%q) = %q, want %q as of %q", code, plain, got, want, word)
				}
			}
		}
	}
}

func TestSerbianWordsHaveOneStemInBothScripts(t *testing.T) {
	t.Parallel()
	s, _ := stem.For("sr")
	for cyrillic, latin := range map[string]string{
		"датотеке": "datoteke", "корисницима": "korisnicima", "љубав": "ljubav", "њихов": "njihov", "џеп": "džep", "ђак": "đak", "кућа": "kuća",
		"животиња": "životinja", "жеља": "želja", "чаша": "čaša",
	} {
		if got, want := s.Stem(cyrillic), s.Stem(latin); got != want {
			t.Errorf("Stem(%q) = %q, want %q as of %q", cyrillic, got, want, latin)
		}
	}
}

// Words of ASCII, of real ones and of random endings, begin with the part of their
// stem that FixedPrefix promises.
func TestWordsBeginWithTheFixedPrefixOfTheirStem(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	all := words(t)
	const letters = "aeiouaeioubcdfghjklmnprstvwxyzznrtskl"
	for range 5_000 {
		word := make([]byte, 1+random.IntN(14))
		for i := range word {
			word[i] = letters[random.IntN(len(letters))]
		}
		all = append(all, string(word))
	}
	for _, code := range stem.Codes() {
		s, _ := stem.For(code)
		for _, word := range all {
			if strings.ContainsFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) {
				continue
			}
			stem := s.Stem(word)
			if n := s.FixedPrefix(stem); n > len(stem) || !strings.HasPrefix(word, stem[:n]) {
				t.Errorf("%s: Stem(%q) = %q, of which FixedPrefix promises %d bytes", code, word, stem, n)
			}
		}
	}
}

func FuzzStem(f *testing.F) {
	for _, word := range words(f) {
		f.Add(word)
	}
	for _, odd := range []string{"", "\xff", "i", "का", "्", "ें", "mengi", "ovima", "ся", "يي", "\u200cمی", "가", "ss", "ııı"} {
		f.Add(odd)
	}
	f.Fuzz(func(t *testing.T, word string) {
		for _, code := range stem.Codes() {
			s, _ := stem.For(code)
			got := s.Stem(word)
			if got == "" && word != "" {
				t.Errorf("%s: Stem(%q) is empty", code, word)
			}
			if utf8.ValidString(word) && !utf8.ValidString(got) {
				t.Errorf("%s: Stem(%q) = %q, which is not valid UTF-8", code, word, got)
			}
			if again := s.Stem(word); again != got {
				t.Errorf("%s: Stem(%q) = %q and then %q", code, word, got, again)
			}
		}
	})
}

func BenchmarkStem(b *testing.B) {
	for _, code := range stem.Codes() {
		s, _ := stem.For(code)
		var forms []string
		for _, line := range lines(b, code) {
			forms = append(forms, strings.Fields(line)[1:]...)
		}
		b.Run(code, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				s.Stem(forms[i%len(forms)])
				i++
			}
		})
	}
}
