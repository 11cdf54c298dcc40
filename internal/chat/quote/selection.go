package quote

import (
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/search"
)

// selection is the choice of quotes for one question.
type selection struct {
	hits     []search.Hit
	question *Question
	words    []word
	total    float64     // of the weights of the words
	units    []candidate // of all passages, in order
	passages []passage   // by hit
	asked    asked
	language string // of the question, among those of the hits; "" if unknown
}

// candidate is a unit of a passage with its score.
type candidate struct {
	unit
	hitIndex int
	terms    map[string]bool
	own      float64 // share of the question's words that the unit has, by weight
	coverage float64 // the same with its context
	score    float64
}

// passage is a hit with its units.
type passage struct {
	from, to int             // of its units
	heading  map[string]bool // of the title, the headings, the section and the version
	terms    map[string]bool
}

// Credits of a word that occurs near a unit and not in it.
const (
	creditNeighbour = 0.6 // in the unit before or after
	creditHeading   = 0.6 // in the title or a heading
	creditPassage   = 0.4 // elsewhere in the passage
)

const (
	contextWeight  = 0.8  // of a word near a unit; the sentence that answers is often beside the one that has the question's words
	otherFactor    = 0.85 // of the score of a unit without the number or name that is asked for
	minHitScore    = 0.01 // a passage without a score still counts
	questionFactor = 0.6  // of the score of a question, which does not answer
	minOwnLanguage = 0.5  // share of the words of another language's quotes that those in the question's need
)

func newSelection(a *analysis.Analyzer, q *Question, hits []search.Hit) *selection {
	s := &selection{hits: hits, question: q, asked: askedFor(q.Text), language: languageOf(q.Text, hits)}
	s.readPassages(a)
	s.readWords(a)
	for i := range s.units {
		s.rate(i)
	}
	s.preferLanguage()
	return s
}

// readPassages splits the passages into units. Of equal units, as in two versions of a
// page, the one of the better passage is kept.
func (s *selection) readPassages(a *analysis.Analyzer) {
	seen := make(map[string]bool)
	s.passages = make([]passage, len(s.hits))
	for h := range s.hits {
		hit := &s.hits[h]
		s.passages[h].heading = termSet(a, strings.Join(append([]string{hit.Title, hit.Section, hit.Version}, hit.Headings...), "\n"), hit.Language)
		s.passages[h].terms = termSet(a, hit.Text, hit.Language)
	}
	superseded := supersededHits(s.question.Text, s.hits, func(hit int) map[string]bool { return s.passages[hit].terms })
	for h := range s.hits {
		hit := &s.hits[h]
		p := &s.passages[h]
		p.from, p.to = len(s.units), len(s.units)
		if superseded[h] {
			continue
		}
		for _, u := range splitUnits(hit.Text, hit.Language) {
			key := strings.ToLower(strings.Join(strings.Fields(u.text), " "))
			if u.isBlock && utf8.RuneCountInString(u.text) > maxBlockRunes || seen[key] {
				continue
			}
			seen[key] = true
			c := candidate{unit: u, hitIndex: h, terms: termSet(a, u.text, hit.Language)}
			if !u.isBlock {
				c.text = TruncateAtWord(u.text, maxQuoteRunes)
			}
			s.units = append(s.units, c)
		}
		p.to = len(s.units)
	}
}

func termSet(a *analysis.Analyzer, text, language string) map[string]bool {
	set := make(map[string]bool)
	for _, token := range a.Tokens(text, language) {
		set[token.Term] = true
	}
	return set
}

// preferLanguage leaves out what is not in the question's language, if what is in it has
// about as many of the question's words.
func (s *selection) preferLanguage() {
	if s.language == "" {
		return
	}
	isForeign := func(i int) bool {
		of := baseLanguage(s.hits[s.units[i].hitIndex].Language)
		return of != "" && of != s.language
	}
	own, foreign := 0.0, 0.0
	for i := range s.units {
		if isForeign(i) {
			foreign = max(foreign, s.units[i].coverage)
		} else {
			own = max(own, s.units[i].coverage)
		}
	}
	if own < minOwnLanguage*foreign {
		return
	}
	for i := range s.units {
		if isForeign(i) {
			s.units[i].score, s.units[i].coverage = 0, 0
		}
	}
}

// credit returns how far a unit with its context has a word: 0 to 1.
func (s *selection) credit(w *word, i int) float64 {
	c := &s.units[i]
	p := &s.passages[c.hitIndex]
	credit := w.match(c.terms)
	if credit == 1 {
		return 1
	}
	near := 0.0
	if i > p.from {
		near = w.match(s.units[i-1].terms)
	}
	if i+1 < p.to {
		near = max(near, w.match(s.units[i+1].terms))
	}
	return max(credit, creditNeighbour*near, creditHeading*w.match(p.heading), creditPassage*w.match(p.terms))
}

// rate sets the coverage and the score of a unit.
func (s *selection) rate(i int) {
	c := &s.units[i]
	var own, all float64
	for j := range s.words {
		w := &s.words[j]
		own += w.weight * w.match(c.terms)
		all += w.weight * s.credit(w, i)
	}
	if s.total > 0 {
		c.own, c.coverage = own/s.total, all/s.total
	}
	c.score = (c.own + contextWeight*(c.coverage-c.own)) * max(s.hits[c.hitIndex].Score, minHitScore) / max(s.hits[0].Score, minHitScore)
	if !s.asked.isIn(c.text, s.question.Text) {
		c.score *= otherFactor
	}
	if strings.HasSuffix(c.text, "?") || strings.HasSuffix(c.text, "？") {
		c.score *= questionFactor
	}
	c.score += 0.02 / float64(1+c.hitIndex+i-s.passages[c.hitIndex].from) // prefers the earlier of equal quotes
}
