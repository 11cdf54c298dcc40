package stopword_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/magpie-search/magpie/internal/analysis/stopword"
)

func TestListsHoldPlainWordsOnce(t *testing.T) {
	t.Parallel()
	for code, list := range stopword.All() {
		if len(list) < 60 || len(list) > 450 {
			t.Errorf("List(%q) has %d words, want 60 to 450", code, len(list))
		}
		if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Errorf("List(%q) is not sorted or repeats a word", code)
		}
		for _, word := range list {
			if !norm.NFC.IsNormalString(word) || strings.ToLower(word) != word {
				t.Errorf("List(%q) has %q, which is not in lower case and NFC", code, word)
			}
			if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
				t.Errorf("List(%q) has %q, which is not one word", code, word)
			}
		}
	}
}

// Each list is in the script of its language, so that a letter of another keyboard
// does not hide a word.
func TestListsAreInTheScriptOfTheirLanguage(t *testing.T) {
	t.Parallel()
	scripts := map[string][]*unicode.RangeTable{
		"ar": {unicode.Arabic}, "fa": {unicode.Arabic}, "ur": {unicode.Arabic}, "he": {unicode.Hebrew}, "el": {unicode.Greek},
		"ru": {unicode.Cyrillic}, "uk": {unicode.Cyrillic}, "bg": {unicode.Cyrillic}, "sr": {unicode.Cyrillic, unicode.Latin},
		"hi": {unicode.Devanagari}, "mr": {unicode.Devanagari}, "ne": {unicode.Devanagari}, "bn": {unicode.Bengali},
		"th": {unicode.Thai}, "ko": {unicode.Hangul}, "ja": {unicode.Hiragana},
	}
	for code, list := range stopword.All() {
		tables := scripts[code]
		if tables == nil {
			tables = []*unicode.RangeTable{unicode.Latin}
		}
		for _, word := range list {
			var used *unicode.RangeTable
			for _, r := range word {
				if unicode.IsMark(r) {
					continue
				}
				i := slices.IndexFunc(tables, func(table *unicode.RangeTable) bool { return unicode.Is(table, r) })
				if i < 0 || used != nil && tables[i] != used {
					t.Errorf("List(%q) has %q, of which %q is a letter of another script", code, word, r)
					break
				}
				used = tables[i]
			}
		}
	}
}

func TestOnlyLanguagesWithAListHaveWords(t *testing.T) {
	t.Parallel()
	if got := stopword.List("tlh"); got != nil {
		t.Errorf("List(%q) = %q, want none", "tlh", got)
	}
	codes := stopword.Codes()
	if !slices.IsSorted(codes) || len(stopword.All()) != len(codes) {
		t.Errorf("Codes() = %q", codes)
	}
	for code, words := range map[string]string{
		"en": "the of what", "de": "der und für", "vi": "của và không", "tr": "ve için bir", "pl": "się nie jest", "ar": "في من على",
		"hi": "है में और", "th": "และ ที่ ของ", "el": "και της είναι", "sr": "је и који su koji",
	} {
		list := stopword.List(code)
		for word := range strings.FieldsSeq(words) {
			if !slices.Contains(list, word) {
				t.Errorf("List(%q) lacks %q", code, word)
			}
		}
	}
}
