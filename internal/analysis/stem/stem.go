package stem

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Stemmer is the stemming algorithm of one language. The zero value leaves
// every word as it is.
type Stemmer uint8

// The stemmers, by the name of their language.
const (
	none Stemmer = iota
	Arabic
	Bengali
	Bulgarian
	Catalan
	Croatian
	Czech
	Danish
	Finnish
	Greek
	Hebrew
	Hindi
	Indonesian
	Marathi
	Nepali
	Persian
	Polish
	Romanian
	Slovak
	Turkish
	Ukrainian
	Urdu
	Vietnamese
)

// For returns the stemmer of a language, given by its code of ISO 639-1 in lower
// case, and reports whether this package has one.
func For(code string) (Stemmer, bool) {
	switch code {
	case "ar":
		return Arabic, true
	case "bg":
		return Bulgarian, true
	case "bn":
		return Bengali, true
	case "ca":
		return Catalan, true
	case "cs":
		return Czech, true
	case "da":
		return Danish, true
	case "el":
		return Greek, true
	case "fa":
		return Persian, true
	case "fi":
		return Finnish, true
	case "he":
		return Hebrew, true
	case "hi":
		return Hindi, true
	case "hr", "sr", "bs":
		return Croatian, true
	case "id", "ms":
		return Indonesian, true
	case "mr":
		return Marathi, true
	case "ne":
		return Nepali, true
	case "pl":
		return Polish, true
	case "ro":
		return Romanian, true
	case "sk":
		return Slovak, true
	case "tr":
		return Turkish, true
	case "uk":
		return Ukrainian, true
	case "ur":
		return Urdu, true
	case "vi":
		return Vietnamese, true
	}
	return none, false
}

// Codes returns the codes for which For has a stemmer, sorted.
func Codes() []string {
	return []string{
		"ar", "bg", "bn", "bs", "ca", "cs", "da", "el", "fa", "fi", "he", "hi", "hr", "id", "mr", "ms", "ne", "pl", "ro", "sk", "sr", "tr",
		"uk", "ur", "vi",
	}
}

// Stem returns the stem of a word of letters and marks in lower case and in
// Unicode's form NFKC. The stem is empty only where the word is. A word of more than
// 256 bytes is its own stem. Any other text is allowed; its stem has no meaning.
func (s Stemmer) Stem(word string) string {
	if len(word) > maxBytes {
		return word
	}
	stem := s.apply(word)
	if stem == "" {
		return word
	}
	return stem
}

// maxBytes bounds the words that are stemmed, and so the time that one takes.
const maxBytes = 256

// FixedPrefix returns the length in bytes of the part of an ASCII stem that every
// ASCII word with this stem begins with. It is at least 1, except for Indonesian:
// words of one stem may have different prefixes, and it is 0.
func (s Stemmer) FixedPrefix(stem string) int {
	switch s {
	case Indonesian:
		return 0
	case Catalan, Croatian, Czech, Danish, Finnish, Polish, Romanian, Slovak, Turkish, Vietnamese:
		return max(len(stem)-rewritten, 1)
	default: // of another script: ASCII is left as it is
		return len(stem)
	}
}

// rewritten is the number of letters at the end of a stem that may differ from those
// of the word.
const rewritten = 2

func (s Stemmer) apply(word string) string {
	switch s {
	case Danish:
		return danish(word)
	case Arabic:
		return arabic(word)
	case Bengali:
		return bengali(word)
	case Bulgarian:
		return bulgarian(word)
	case Catalan:
		return catalan(word)
	case Croatian:
		return croatian(word)
	case Czech:
		return czech(word)
	case Finnish:
		return finnish(word)
	case Greek:
		return greek(word)
	case Hebrew:
		return hebrew(word)
	case Hindi:
		return hindi(word)
	case Indonesian:
		return indonesian(word)
	case Marathi:
		return marathi(word)
	case Nepali:
		return nepali(word)
	case Persian:
		return persian(word)
	case Polish:
		return polish(word)
	case Romanian:
		return romanian(word)
	case Slovak:
		return slovak(word)
	case Turkish:
		return turkish(word)
	case Ukrainian:
		return ukrainian(word)
	case Urdu:
		return urdu(word)
	case Vietnamese:
		return vietnamese(word)
	case none:
	}
	return word
}

// length returns the length of a word in characters.
func length(word string) int { return utf8.RuneCountInString(word) }

// cut returns word without the longest of the endings that leave at least minStem
// characters, and word itself where none does. Endings are given between blanks;
// one that is followed by = and letters is replaced by these.
func cut(word string, minStem int, endings string) string {
	best, replacement := "", ""
	for entry := range strings.FieldsSeq(endings) {
		ending, letters, _ := strings.Cut(entry, "=")
		if len(ending) > len(best) && strings.HasSuffix(word, ending) && length(word)-length(ending) >= minStem {
			best, replacement = ending, letters
		}
	}
	stem := word[:len(word)-len(best)]
	if replacement != "" {
		stem += replacement
	}
	return stem
}

// fold returns word without diacritics. Stemmers of languages that are often typed
// without diacritics fold first, so that both spellings have the same stem.
func fold(word string) string {
	if isASCII(word) {
		return word
	}
	return strings.Map(func(r rune) rune {
		switch r {
		case 'ł':
			return 'l'
		case 'đ':
			return 'd'
		case 'ı':
			return 'i'
		case 'ς':
			return 'σ'
		}
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(word))
}

func isASCII(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return r >= utf8.RuneSelf })
}

// withoutFleeting returns word without its last vowel if that is the given vowel and
// is followed by one letter, one of last, and preceded by a consonant. Slavic words
// lose such a vowel before an ending (Polish hasło, genitive plural haseł).
func withoutFleeting(word string, vowel rune, vowels, last string) string {
	end, size := utf8.DecodeLastRuneInString(word)
	body := word[:len(word)-size]
	middle, size := utf8.DecodeLastRuneInString(body)
	start := body[:len(body)-size]
	before, _ := utf8.DecodeLastRuneInString(start)
	if length(start) < 3 || middle != vowel || !strings.ContainsRune(last, end) || strings.ContainsRune(vowels, before) {
		return word
	}
	return start + string(end)
}
