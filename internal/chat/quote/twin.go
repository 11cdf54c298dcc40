package quote

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/internal/analysis/stopword"
	"github.com/magpie-search/magpie/internal/search"
)

// languageOf returns the language of a question among those of the hits, or "" if it
// cannot be told. The script of the letters decides, then the number of stop words.
func languageOf(question string, hits []search.Hit) string {
	script := scriptOf(question)
	words := strings.FieldsFunc(strings.ToLower(question), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
	seen := make(map[string]bool)
	best, most, isTie := "", -1, false
	for i := range hits {
		code := baseLanguage(hits[i].Language)
		if code == "" || seen[code] || scriptOf(hits[i].Text) != script {
			continue
		}
		seen[code] = true
		stops := 0
		list := stopword.List(code)
		for _, w := range words {
			if slices.Contains(list, w) {
				stops++
			}
		}
		if stops == most {
			isTie = true
		}
		if stops > most {
			best, most, isTie = code, stops, false
		}
	}
	if isTie || most == 0 && script == unicode.Latin {
		return ""
	}
	return best
}

func baseLanguage(code string) string {
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(code, "_", "-")), "-")
	return base
}

// scriptOf returns the script of most letters of a text. Japanese is the text with kana.
func scriptOf(text string) *unicode.RangeTable {
	scripts := []*unicode.RangeTable{
		unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Arabic, unicode.Hebrew, unicode.Devanagari, unicode.Thai, unicode.Han, unicode.Hangul,
		unicode.Bengali, unicode.Tamil, unicode.Telugu, unicode.Georgian, unicode.Armenian,
	}
	counts := make([]int, len(scripts))
	for _, r := range text {
		if unicode.In(r, unicode.Hiragana, unicode.Katakana) {
			return unicode.Hiragana
		}
		for i, s := range scripts {
			if unicode.Is(s, r) {
				counts[i]++
				break
			}
		}
	}
	return scripts[slices.Index(counts, slices.Max(counts))]
}

// supersededHits returns which hits are another version of a passage that is preferred:
// the one whose version the question names, or else the newest.
func supersededHits(question string, hits []search.Hit, terms func(hit int) map[string]bool) []bool {
	superseded := make([]bool, len(hits))
	for i := range hits {
		for j := range i {
			if superseded[i] || superseded[j] || !areVersions(&hits[i], &hits[j], func() float64 { return similarity(terms(i), terms(j)) }) {
				continue
			}
			if isPreferred(question, &hits[i], &hits[j]) {
				superseded[j] = true
			} else {
				superseded[i] = true
			}
		}
	}
	return superseded
}

// areVersions reports whether two hits are one passage of two versions of a document.
func areVersions(x, y *search.Hit, similarity func() float64) bool {
	if x.Document == y.Document || x.Title == "" || !strings.EqualFold(x.Title, y.Title) || !slices.Equal(x.Headings, y.Headings) ||
		baseLanguage(x.Language) != baseLanguage(y.Language) {
		return false
	}
	return (x.Version != y.Version || !x.UpdatedAt.Equal(y.UpdatedAt)) && similarity() > minTwin
}

// minTwin is the share of common terms of two versions of a passage.
const minTwin = 0.5

// isPreferred reports whether x is to be quoted and not its other version y.
func isPreferred(question string, x, y *search.Hit) bool {
	names := func(h *search.Hit) int {
		if h.Version != "" && strings.Contains(" "+question+" ", h.Version) {
			return len(h.Version) // "2.1" and not "2"
		}
		return 0
	}
	return cmp.Or(cmp.Compare(names(x), names(y)), compareVersions(x.Version, y.Version), x.UpdatedAt.Compare(y.UpdatedAt), cmp.Compare(x.Score, y.Score)) > 0
}

// compareVersions compares versions such as v1.9 and v1.10 number by number.
func compareVersions(x, y string) int {
	a, b := numbers(x), numbers(y)
	return slices.Compare(a, b)
}

func numbers(version string) []int {
	var out []int
	for _, part := range strings.FieldsFunc(version, func(r rune) bool { return !unicode.IsDigit(r) }) {
		if n, err := strconv.Atoi(part); err == nil {
			out = append(out, n)
		}
	}
	return out
}
