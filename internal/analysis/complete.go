package analysis

import (
	"slices"
	"strings"
)

// Completions returns terms that do not begin with the prefix although words that do may be stored under them: what is
// typed as "restori" may become "restoring", which is stored as "restor". The prefix is that of a Query, the
// languages are those it was parsed for. The result is a
// guess from common endings and may be empty.
func (a *Analyzer) Completions(prefix string, languages ...string) []string {
	if len(prefix) < 4 || strings.ContainsFunc(prefix, func(r rune) bool { return r >= 0x0250 || classify(r) != classWord }) {
		return nil
	}
	var terms []string
	for _, stem := range audienceOf(languages...).stemmers(scriptLatin) {
		for ending := range strings.FieldsSeq(endings(stem)) {
			term := a.term(piece{script: scriptLatin}, prefix+ending, stem)
			if len(term) >= 3 && len(term) < len(prefix) && strings.HasPrefix(prefix, term) && !slices.Contains(terms, term) {
				terms = append(terms, term)
			}
		}
	}
	return terms
}

// endings returns what may be missing of the endings that a stemmer takes off.
func endings(stem stemmer) string {
	switch stem {
	case stemEnglish:
		return "g ng d n on ion tion t nt ent s ss le ble y ty ity cy ncy"
	case stemGerman:
		return "g ng n en r er t it eit keit h ch lich s e"
	case stemFrench:
		return "n on ion t nt ent ment s e"
	case stemSpanish:
		return "n on ion s es o e te nte"
	}
	return ""
}
