package analysis

import "strings"

// What tests need to compare the quick ways with the plain ones.

// Found returns the tokens of a text that have one of the terms, as excerpts find them.
func (a *Analyzer) Found(text string, terms []string, language string) []Token {
	lang := languageOf(language)
	w := newWanted(terms, lang.stemmer(scriptLatin))
	var tokens []Token
	for _, m := range a.termMatches(nil, text, w, lang) {
		tokens = append(tokens, Token{Term: w.terms[m.term].text, Start: m.start, End: m.end})
	}
	return tokens
}

// PlainTokens is Tokens with every word read as a compound.
func (a *Analyzer) PlainTokens(text, language string) []Token {
	lang := languageOf(language)
	var tokens []Token
	s := scanner{text: text}
	s.emit = func(p piece) {
		if term := normalize(text[p.start:p.end], p.stemmer(lang)); term != "" {
			tokens = append(tokens, Token{Term: term, Position: p.position, Start: p.start, End: p.end})
		}
	}
	for i := 0; i < len(text); {
		r, size := decode(text, i)
		switch classify(r) {
		case classWord:
			i = s.compound(i)
		case classPair:
			i = s.pairs(i)
		default:
			i += size
		}
	}
	return tokens
}

func (p piece) stemmer(l language) stemmer {
	if p.exact {
		return stemNone
	}
	return l.stemmer(p.script)
}

// BestWindow returns where the best window of some tokens begins, in bytes, and its length in runes.
func BestWindow(text string, tokens []Token, room int) (start, runes int) {
	var matches []match
	var terms []string
	for _, token := range tokens {
		term := len(terms)
		for i := range terms {
			if terms[i] == token.Term {
				term = i
			}
		}
		if term == len(terms) {
			terms = append(terms, token.Term)
		}
		matches = append(matches, match{span{token.Start, token.End}, term})
	}
	return bestWindow(text, matches, len(terms), room)
}

// Widened returns the starts and ends of tokens widened to characters, quickly and plainly.
func Widened(text string, tokens []Token) (quick, plain [][2]int) {
	spans := make([]span, len(tokens))
	ends := func(widen func(string, []span)) [][2]int {
		for i, token := range tokens {
			spans[i] = span{token.Start, token.End}
		}
		widen(text, spans)
		all := make([][2]int, len(spans))
		for i, s := range spans {
			all[i] = [2]int{s.start, s.end}
		}
		return all
	}
	return ends(widen), ends(widenToClusters)
}

// Start returns the stem of a word and what of it every word in ASCII begins with that has it.
func Start(word, language string) (stem, start string) {
	s := languageOf(language).stemmer(scriptLatin)
	stem = normalize(word, s)
	return stem, stem[:s.fixedPrefix(stem)]
}

// Suffixes returns endings that the stemmers of this package know.
func Suffixes() []string {
	return strings.Fields(strings.NewReplacer("~", "", "Y", "i").Replace(italianPronouns + " " + italianEndings + " " + italianVerbs + " " +
		portugueseEndings + " " + portugueseVerbs + " heden ene se end ing ig lijk baar bar heid ern em niss isch keit ung"))
}

// StandsAlone and IsCommonPair tell runes apart that are handled quickly, CountRunes is the quick count of runes.
var (
	StandsAlone  = standsAlone
	IsCommonPair = isCommonPair
	CountRunes   = runeCount
)
