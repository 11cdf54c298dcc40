package chat

import (
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/internal/search"
)

// language is a tongue that the package can phrase its own sentences in.
type language string

const (
	unknown language = "" // phrased in English, follow-ups without words of our own
	english language = "en"
	german  language = "de"
)

// The words that tell the two apart: frequent ones that the other does not have.
const (
	englishWords = " the is are of to and for with how what why when where which who can could do does did i my you your it this that there from not or should would have has if on by as be about "
	germanWords  = " der das den dem des ein eine einen einem einer ist sind und oder fur mit wie warum wann wo wer welche welcher welches kann konnen ich mein meine du dein sie es wir nicht von vom zum zur bei nach auf aus wenn sich wird werden gibt im uber zu "
)

// languageOf guesses the language of a question from its function words; unknown when they do not tell.
func languageOf(text string) language {
	en, de := 0, 0
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if strings.ContainsAny(word, "äöüß") {
			de++
		}
		word = " " + germanVowels(word) + " "
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

// germanVowels writes umlauts as the lists above have them.
func germanVowels(word string) string {
	return strings.NewReplacer("ä", "a", "ö", "o", "ü", "u", "ß", "ss").Replace(word)
}

// languageOfHit is the language a passage is marked with.
func languageOfHit(hit search.Hit) language {
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(hit.Language, "_", "-")), "-")
	return language(base)
}

// languageFor is the language to phrase our own sentences in: the question's, else the one most passages have.
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

// nothingFound says that the documents do not answer.
func (l language) nothingFound() string {
	if l == german {
		return "In den Dokumenten habe ich dazu nichts gefunden."
	}
	return "I found nothing about this in the documents."
}

// quotesFollow introduces an answer that no model wrote.
func (l language) quotesFollow() string {
	if l == german {
		return "Es ist kein Sprachmodell eingerichtet; die folgenden Sätze sind wörtliche Zitate aus den Dokumenten."
	}
	return "No language model is configured; the following are verbatim quotes from the documents."
}
