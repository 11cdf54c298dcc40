package chat

import (
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/internal/search"
)

// language is a language in which the package phrases its own sentences.
type language string

const (
	unknown language = "" // own sentences are English, follow-ups are bare topics
	english language = "en"
	german  language = "de"
)

// Frequent words of one language that the other does not have.
const (
	englishWords = " the is are of to and for with how what why when where which who can could do does did i my you your it this that there from not or should would have has if on by as be about "
	germanWords  = " der das den dem des ein eine einen einem einer ist sind und oder fur mit wie warum wann wo wer welche welcher welches kann konnen ich mein meine du dein sie es wir nicht von vom zum zur bei nach auf aus wenn sich wird werden gibt im uber zu "
)

// languageOf guesses the language of a question from its function words. It
// returns unknown if they do not decide.
func languageOf(text string) language {
	en, de := 0, 0
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if strings.ContainsAny(word, "äöüß") {
			de++
		}
		word = " " + replaceUmlauts(word) + " "
		if strings.Contains(englishWords, word) {
			en++
		}
		if strings.Contains(germanWords, word) {
			de++
		}
	}
	switch {
	case en > de:
		return english
	case de > en:
		return german
	default:
		return unknown
	}
}

// replaceUmlauts returns a word in the spelling of the lists above.
func replaceUmlauts(word string) string {
	return strings.NewReplacer("ä", "a", "ö", "o", "ü", "u", "ß", "ss").Replace(word)
}

// languageOfHit returns the language of a passage's document.
func languageOfHit(hit search.Hit) language {
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(hit.Language, "_", "-")), "-")
	return language(base)
}

// languageFor returns the language for the package's own sentences: that of the
// question, or else the most frequent one of the passages.
func languageFor(question string, hits []search.Hit) language {
	best := languageOf(question)
	if best != unknown {
		return best
	}
	counts := make(map[language]int)
	for _, hit := range hits {
		l := languageOfHit(hit)
		counts[l]++
		if counts[l] > counts[best] {
			best = l
		}
	}
	return best
}

// nothingFoundText says that the documents do not answer.
func (l language) nothingFoundText() string {
	if l == german {
		return "In den Dokumenten habe ich dazu nichts gefunden."
	}
	return "I found nothing about this in the documents."
}

// quotesIntro introduces an answer that no model wrote.
func (l language) quotesIntro() string {
	if l == german {
		return "Es ist kein Sprachmodell eingerichtet; die folgenden Sätze sind wörtliche Zitate aus den Dokumenten."
	}
	return "No language model is configured; the following are verbatim quotes from the documents."
}
