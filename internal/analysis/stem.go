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

	light "github.com/magpie-search/magpie/internal/analysis/stem"
)

// stemmer is a stemming algorithm: one of the constants, or stemLight plus the
// number of a stemmer of package stem.
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
	stemLight
)

// lightStemmer returns the stemmer for a light one.
func lightStemmer(s light.Stemmer) stemmer { return stemLight + stemmer(s) }

// keepsMarks reports whether terms of the language keep their diacritics. Those of
// Vietnamese are tones, which tell most of its words apart.
func (s stemmer) keepsMarks() bool { return s == lightStemmer(light.Vietnamese) }

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
	case stemNone:
		return word
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
	default:
		return light.Stemmer(s - stemLight).Stem(word)
	}
}

// fixedPrefix returns the length in bytes of the start of an ASCII stem that every ASCII word with this stem begins with. It
// is at least 1, or 0 for a stemmer that also cuts prefixes. Stemmers cut endings, and some replace letters at the end of
// what remains.
func (s stemmer) fixedPrefix(stem string) int {
	n := len(stem)
	switch s {
	case stemNone, stemGerman, stemSwedish, stemNorwegian, stemPortuguese: // Portuguese replaces accented letters only
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
	default:
		return light.Stemmer(s - stemLight).FixedPrefix(stem)
	}
	return max(n, 1)
}

// language is what the analyzer knows of a language code; the zero value is an unknown language.
type language struct {
	code   string // ISO 639-1, lower case
	known  bool
	stem   stemmer
	script script
}

// languageOf reads codes such as "de", "de-AT", "deu" and "zh_Hans" in any case.
func languageOf(code string) language {
	if i := strings.IndexAny(code, "-_"); i >= 0 {
		code = code[:i]
	}
	if len(code) < 2 || len(code) > 3 {
		return language{}
	}
	l := language{code: twoLetterCode(strings.ToLower(code)), known: true}
	switch l.code {
	case "und", "mul", "zxx":
		return language{}
	case "ru", "uk", "bg", "sr", "be", "mk", "kk", "ky", "mn", "tg":
		l.script = scriptCyrillic
	case "zh", "ja", "ko", "th", "lo", "km", "my", "ar", "fa", "ur", "he", "el", "hi", "bn", "ta", "te", "ml", "kn", "gu",
		"mr", "ne", "pa", "si", "ka", "hy", "am", "ti", "yi", "ps", "sd", "ug", "or", "as":
		l.script = scriptOther
	default:
		l.script = scriptLatin
	}
	l.stem = stemmerOf(l.code)
	return l
}

// stemmerOf returns the stemmer of a language; stemNone if it has none.
func stemmerOf(code string) stemmer {
	switch code {
	case "en":
		return stemEnglish
	case "fr":
		return stemFrench
	case "de":
		return stemGerman
	case "es":
		return stemSpanish
	case "sv":
		return stemSwedish
	case "no":
		return stemNorwegian
	case "hu":
		return stemHungarian
	case "it":
		return stemItalian
	case "pt":
		return stemPortuguese
	case "nl":
		return stemDutch
	case "ru":
		return stemRussian
	}
	if s, ok := light.For(code); ok {
		return lightStemmer(s)
	}
	return stemNone
}

// twoLetterCode returns the code of ISO 639-1 of a language with a stemmer or a list of stop words, given by its code of ISO
// 639-1 or 639-2, and any other code as it is. The two written forms of Norwegian are one language here.
func twoLetterCode(code string) string {
	if len(code) == 3 {
		const codes = " ara=ar ben=bn bos=bs bul=bg cat=ca ces=cs chi=zh cze=cs dan=da deu=de dut=nl ell=el eng=en fas=fa fin=fi fra=fr fre=fr ger=de" +
			" gre=el heb=he hin=hi hrv=hr hun=hu ind=id ita=it jpn=ja kor=ko lao=lo khm=km mar=mr may=ms msa=ms mya=my bur=my nep=ne nld=nl nno=no" +
			" nob=no nor=no per=fa pol=pl por=pt ron=ro rum=ro rus=ru slk=sk slo=sk spa=es srp=sr swe=sv tha=th tur=tr ukr=uk urd=ur vie=vi zho=zh "
		if _, after, found := strings.Cut(codes, " "+code+"="); found {
			return after[:2]
		}
	}
	if code == "nb" || code == "nn" {
		return "no"
	}
	return code
}

// stemmer returns how a word of a document in this language is stemmed.
func (l language) stemmer(written script) stemmer {
	switch {
	case l.known && (l.script == written || l.code == "sr" && written == scriptLatin):
		return l.stem
	case written == scriptLatin:
		return stemEnglish
	case written == scriptCyrillic:
		return stemRussian
	default:
		return stemNone
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
	all := stemmersOf(written)
	if len(a) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(s stemmer) bool {
		return !slices.ContainsFunc(a, func(l language) bool { return l.stemmer(written) == s })
	})
}

// stemmersOf returns the stemmers for words of a script, the likeliest first.
func stemmersOf(written script) (all []stemmer) {
	var lights []light.Stemmer
	switch written {
	case scriptLatin:
		all = []stemmer{
			stemEnglish, stemNone, stemGerman, stemFrench, stemSpanish, stemSwedish, stemNorwegian, stemHungarian, stemItalian,
			stemPortuguese, stemDutch,
		}
		lights = []light.Stemmer{
			light.Turkish, light.Polish, light.Czech, light.Romanian, light.Danish, light.Finnish, light.Croatian, light.Slovak,
			light.Catalan, light.Indonesian, light.Vietnamese,
		}
	case scriptCyrillic:
		all = []stemmer{stemRussian, stemNone}
		lights = []light.Stemmer{light.Ukrainian, light.Bulgarian, light.Croatian}
	case scriptOther:
		all = []stemmer{stemNone}
		lights = []light.Stemmer{
			light.Arabic, light.Hindi, light.Greek, light.Hebrew, light.Persian, light.Urdu, light.Bengali, light.Marathi, light.Nepali,
		}
	}
	for _, s := range lights {
		all = append(all, lightStemmer(s))
	}
	return all
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

// A cached word lies in one piece with what was found, most often in one line of the processor's cache.
type cached[T any] struct {
	kind, length uint8
	raw          [maxCachedBytes]byte
	found        T
}

const (
	// maxCachedBytes is the longest word that is remembered: few words of any script are longer.
	maxCachedBytes = 46

	termSlots  = 1 << 16 // terms of words, by stemmer
	formsSlots = 1 << 13 // all terms of the words of queries, by script
)

func newWordCache[T any](slots uint64) *wordCache[T] {
	return &wordCache[T]{seed: maphash.MakeSeed(), slots: make([]atomic.Pointer[cached[T]], slots)}
}

// lookup returns what find makes of a word, which is not to be changed. What is of different kinds is kept apart.
func (c *wordCache[T]) lookup(raw string, kind uint8, find func(raw string) T) T {
	if c == nil || len(raw) > maxCachedBytes {
		return find(raw)
	}
	slot := &c.slots[(maphash.String(c.seed, raw)+uint64(kind)*0x9E3779B97F4A7C15)%uint64(len(c.slots))]
	if known := slot.Load(); known != nil && known.kind == kind && string(known.raw[:known.length]) == raw {
		return known.found
	}
	length := uint8(len(raw))                                                       //nolint:gosec // at most maxCachedBytes
	word := &cached[T]{kind: kind, length: length, found: find(strings.Clone(raw))} // a text is not kept for one of its words
	copy(word.raw[:], raw)
	slot.Store(word)
	return word.found
}
