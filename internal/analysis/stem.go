package analysis

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/french"
	"github.com/kljensen/snowball/hungarian"
	"github.com/kljensen/snowball/norwegian"
	"github.com/kljensen/snowball/russian"
	"github.com/kljensen/snowball/spanish"
	"github.com/kljensen/snowball/swedish"
)

// stemmer is one stemming algorithm.
type stemmer uint8

const (
	stemNone stemmer = iota
	stemEnglish
	stemFrench
	stemGerman
	stemSpanish
	stemSwedish
	stemNorwegian
	stemHungarian
	stemRussian
	stemItalian
	stemPortuguese
	stemDutch
)

// apply stems a lower-case NFKC word. A stemmer that fails on odd input leaves the word as it is.
func (s stemmer) apply(word string) (stem string) {
	if utf8.RuneCountInString(word) < 3 || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		return word
	}
	defer func() {
		// The stemmers index into the word by rules that assume well-formed words of their language.
		if recover() != nil || stem == "" {
			stem = word
		}
	}()
	switch s {
	case stemEnglish:
		return english.Stem(word, true)
	case stemFrench:
		return french.Stem(word, true)
	case stemGerman:
		return stemGermanWord(word)
	case stemSpanish:
		return spanish.Stem(word, true)
	case stemSwedish:
		return swedish.Stem(word, true)
	case stemNorwegian:
		return norwegian.Stem(word, true)
	case stemHungarian:
		return hungarian.Stem(word, true)
	case stemRussian:
		return russian.Stem(word, true)
	case stemItalian:
		return stemItalianWord(word)
	case stemPortuguese:
		return stemPortugueseWord(word)
	case stemDutch:
		return stemDutchWord(word)
	case stemNone:
	}
	return word
}

// keeps returns how many bytes at the start of a stem every word in ASCII begins with that has the stem, at least one. The
// stemmers take endings off, and these put letters in the place of others at the end of what remains.
func (s stemmer) keeps(stem string) int {
	n := len(stem)
	switch s {
	case stemNone, stemGerman, stemSwedish, stemNorwegian, stemPortuguese: // Portuguese has letters for accented ones only
		return n
	case stemEnglish:
		switch {
		case n == 3 && stem[1:] == "ie": // die, lie and tie of dying, lying and tying
			return 1
		case strings.HasSuffix(stem, "ble"): // edible of edibility, before its e goes
			n -= 2
		case strings.HasSuffix(stem, "bl"), strings.HasSuffix(stem, "e"), strings.HasSuffix(stem, "i"), strings.HasSuffix(stem, "y"):
			n--
		}
	case stemFrench, stemSpanish, stemHungarian, stemRussian, stemItalian, stemDutch:
		n -= 2 // publique of publication, existente of existencia, sz of ssz, ante of anza, heid of heden
	}
	return max(n, 1)
}

// language is what the analyzer knows of a language code; the zero value is an unknown language.
type language struct {
	code     string // ISO 639-1, lower case
	known    bool
	suffixes stemmer
	script   script
}

// languageOf reads codes such as "de", "de-AT", "zh_Hans" in any case.
func languageOf(code string) language {
	if i := strings.IndexAny(code, "-_"); i >= 0 {
		code = code[:i]
	}
	if len(code) < 2 || len(code) > 3 {
		return language{}
	}
	l := language{code: strings.ToLower(code), known: true, script: scriptLatin}
	switch l.code {
	case "en", "eng":
		l.code, l.suffixes = "en", stemEnglish
	case "fr", "fra", "fre":
		l.code, l.suffixes = "fr", stemFrench
	case "de", "deu", "ger":
		l.code, l.suffixes = "de", stemGerman
	case "es", "spa":
		l.code, l.suffixes = "es", stemSpanish
	case "sv", "swe":
		l.code, l.suffixes = "sv", stemSwedish
	case "no", "nb", "nn", "nor", "nob", "nno":
		l.code, l.suffixes = "no", stemNorwegian
	case "hu", "hun":
		l.code, l.suffixes = "hu", stemHungarian
	case "it", "ita":
		l.code, l.suffixes = "it", stemItalian
	case "pt", "por":
		l.code, l.suffixes = "pt", stemPortuguese
	case "nl", "nld", "dut":
		l.code, l.suffixes = "nl", stemDutch
	case "ru", "rus":
		l.code, l.suffixes, l.script = "ru", stemRussian, scriptCyrillic
	case "uk", "bg", "be", "mk", "sr", "kk", "ky", "mn", "tg":
		l.script = scriptCyrillic
	case "zh", "ja", "ko", "th", "lo", "km", "my", "ar", "fa", "ur", "he", "el", "hi", "bn", "ta", "te", "ml", "kn", "gu",
		"mr", "ne", "pa", "si", "ka", "hy", "am", "ti", "zho", "chi", "jpn", "kor", "tha", "yi", "ps", "sd", "ug", "or", "as":
		l.script = scriptOther
	case "und", "mul", "zxx":
		return language{}
	}
	return l
}

// stemmer returns how a word of a document in this language is stemmed.
func (l language) stemmer(written script) stemmer {
	switch {
	case written == scriptOther:
		return stemNone
	case l.known && l.script == written:
		return l.suffixes
	case written == scriptLatin:
		return stemEnglish
	default:
		return stemRussian
	}
}

// audience is the languages of the documents that a query looks for; none means any.
type audience []language

func audienceOf(codes ...string) audience {
	var all audience
	known := false
	for _, code := range codes {
		l := languageOf(code)
		known = known || l.known
		if !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	if !known {
		return nil
	}
	return all
}

// stemmers returns every way in which the documents stem a word, the likeliest first.
func (a audience) stemmers(written script) []stemmer {
	var all []stemmer
	switch written {
	case scriptLatin:
		all = []stemmer{
			stemEnglish, stemNone, stemGerman, stemFrench, stemSpanish, stemSwedish, stemNorwegian, stemHungarian, stemItalian,
			stemPortuguese, stemDutch,
		}
	case scriptCyrillic:
		all = []stemmer{stemRussian, stemNone}
	case scriptOther:
		all = []stemmer{stemNone}
	}
	if len(a) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(s stemmer) bool {
		return !slices.ContainsFunc(a, func(l language) bool { return l.stemmer(written) == s })
	})
}

// has reports whether a language may be one of the documents'.
func (a audience) has(code string) bool {
	return len(a) == 0 || slices.ContainsFunc(a, func(l language) bool { return l.code == code })
}

// wordCache remembers what was found out about words seen before. It is a table of fixed size in which a new word displaces
// the old one of its slot: bounded, without locks, and invisible in the results. A nil one remembers nothing.
type wordCache[T any] struct {
	seed  maphash.Seed
	slots []atomic.Pointer[cached[T]]
}

type cached[T any] struct {
	raw   string
	kind  uint8
	found T
}

const (
	termSlots  = 1 << 15 // terms of words, by stemmer
	formsSlots = 1 << 13 // all terms of the words of queries, by script
)

func newWordCache[T any](slots uint64) *wordCache[T] {
	return &wordCache[T]{seed: maphash.MakeSeed(), slots: make([]atomic.Pointer[cached[T]], slots)}
}

// lookup returns what find makes of a word, which is not to be changed. What is of different kinds is kept apart.
func (c *wordCache[T]) lookup(raw string, kind uint8, find func(raw string) T) T {
	if c == nil || len(raw) > maxTermRunes {
		return find(raw)
	}
	slot := &c.slots[(maphash.String(c.seed, raw)+uint64(kind)*0x9E3779B97F4A7C15)%uint64(len(c.slots))]
	if known := slot.Load(); known != nil && known.kind == kind && known.raw == raw {
		return known.found
	}
	raw = strings.Clone(raw) // a text is not kept for one of its words
	found := find(raw)
	slot.Store(&cached[T]{raw: raw, kind: kind, found: found})
	return found
}
