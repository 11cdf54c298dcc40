package rank

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/search/spelling"
)

// maxCorrections is the largest number of words of a question that are corrected.
const maxCorrections = 8

// A Speller corrects the spelling of questions by the words of the collections that
// they are put to.
type Speller struct {
	Analyzer *analysis.Analyzer
	// Knows reports whether a word that no passage has is spelled right all the same. Of
	// such a word only letters are corrected that are doubled by mistake, or are not.
	// Nil knows no word.
	Knows func(word string) bool
	// Texts returns the texts of passages of a part; "" for one that is gone.
	Texts func(ctx context.Context, part int, passages []Candidate) ([]Text, error)
}

// A Text is the text of a passage, its title before it.
type Text struct{ Text, Language string }

// A Correction is a word of a question that no passage has, and the word in its place.
type Correction struct{ From, To string }

// A Respelling is a question as it is searched for.
type Respelling struct {
	Question *Question
	// Corrected are the words that were replaced, in their order and each once.
	Corrected []Correction
	// Meant is the text of the question with these words replaced; "" without
	// corrections.
	Meant string
}

// Respell returns the question with the compounds as the collections write them, and
// with the nearest words of the collections in place of words that no passage has. It
// looks at passages only that the filters of the parts select, and offers no other
// words.
func (s *Speller) Respell(ctx context.Context, parts []Part, q *Question) (*Respelling, error) {
	r := respeller{Speller: s, parts: parts, question: q, frequencies: make(map[string]int)}
	if err := r.look(ctx); err != nil {
		return nil, err
	}
	edits := r.compoundEdits()
	corrected, corrections, err := r.correct(ctx)
	if err != nil {
		return nil, err
	}
	out := &Respelling{Question: q, Corrected: corrections}
	if len(corrected) > 0 {
		out.Meant = apply(q.text, corrected)
	}
	if len(edits)+len(corrected) > 0 {
		out.Question = newQuestion(s.Analyzer, apply(q.text, append(edits, corrected...)), q.language, q.asYouType, nil)
		r.question = out.Question
		if err := r.look(ctx); err != nil {
			return nil, err
		}
	}
	if joins := r.joins(); len(joins) > 0 {
		out.Question = newQuestion(s.Analyzer, out.Question.text, q.language, q.asYouType, joins)
	}
	return out, nil
}

// An edit replaces bytes of a text.
type edit struct {
	start, end int
	text       string
}

// apply applies edits that do not overlap.
func apply(text string, edits []edit) string {
	slices.SortFunc(edits, func(a, b edit) int { return a.start - b.start })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.start])
		b.WriteString(e.text)
		at = e.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// A respeller respells one question.
type respeller struct {
	*Speller
	parts       []Part
	question    *Question
	compounds   []compound
	frequencies map[string]int // document frequencies of terms
}

// look looks up the document frequencies of the question's terms, of its stop words and
// of its compounds.
func (r *respeller) look(ctx context.Context) error {
	r.compounds = r.question.compounds(r.Analyzer)
	terms := slices.Clone(r.question.terms)
	for _, w := range r.question.parsed {
		if w.Stop {
			terms = append(terms, w.Surface)
		}
	}
	for i := range r.compounds {
		c := &r.compounds[i]
		terms = append(append(terms, c.hyphen()), c.whole...)
	}
	return r.lookUp(ctx, terms)
}

// lookUp looks up the document frequencies of terms.
func (r *respeller) lookUp(ctx context.Context, all []string) error {
	var terms []string
	for _, t := range all {
		if _, ok := r.frequencies[t]; !ok {
			r.frequencies[t] = 0
			terms = append(terms, t)
		}
	}
	if len(terms) == 0 {
		return nil
	}
	for _, p := range r.parts {
		counts, err := p.Source.DocumentFrequencies(ctx, terms)
		if err != nil {
			return err
		}
		for i, n := range counts {
			r.frequencies[terms[i]] += n
		}
	}
	return r.hide(ctx, terms)
}

// hide sets the frequencies of terms to 0 that only passages have which the viewer may
// not read. They must not be told from words that no passage has.
func (r *respeller) hide(ctx context.Context, terms []string) error {
	if !slices.ContainsFunc(r.parts, func(p Part) bool { return p.Readable != nil }) {
		return nil
	}
	var present []string
	for _, t := range terms {
		if r.frequencies[t] > 0 {
			present = append(present, t)
		}
	}
	readable := make([]bool, len(present))
	for _, p := range r.parts {
		var found []bool
		var err error
		if p.Readable == nil {
			var counts []int
			if counts, err = p.Source.DocumentFrequencies(ctx, present); err != nil {
				return err
			}
			for _, n := range counts {
				found = append(found, n > 0)
			}
		} else {
			source, err := p.Readable(ctx)
			if err != nil {
				return err
			}
			if found, err = source.Contains(ctx, present); err != nil {
				return err
			}
		}
		for i := range readable {
			readable[i] = readable[i] || found[i]
		}
	}
	for i, t := range present {
		if !readable[i] {
			r.frequencies[t] = 0
		}
	}
	return nil
}

// sum returns the sum of the document frequencies of terms.
func (r *respeller) sum(terms []string) int {
	n := 0
	for _, t := range terms {
		n += r.frequencies[t]
	}
	return n
}

// isSolid reports whether the collections mostly write a compound as one word.
func (r *respeller) isSolid(c *compound) bool {
	return r.sum(c.whole) > r.frequencies[c.hyphen()]
}

// compoundEdits returns the edits that write each compound of the question as the
// collections mostly do.
func (r *respeller) compoundEdits() []edit {
	var out []edit
	split := -1 // start of the last word that was split
	for i := range r.compounds {
		c := &r.compounds[i]
		switch c.written {
		case hyphenated:
			if r.isSolid(c) {
				out = append(out, edit{c.start, c.end, ""})
			} else if c.stop == 0 {
				out = append(out, edit{c.start, c.end, " "})
			}
		case solid:
			if r.frequencies[c.hyphen()] > 0 && !r.isSolid(c) && c.start-len(c.first) != split {
				split = c.start - len(c.first)
				out = append(out, edit{c.start, c.start, " "})
			}
		case apart:
		}
	}
	return out
}

// joins returns the terms of compounds that words of the question stand for, too.
func (r *respeller) joins() []join {
	var out []join
	for i := range r.compounds {
		c := &r.compounds[i]
		j := join{word: c.owner}
		if r.frequencies[c.hyphen()] > 0 {
			j.terms = append(j.terms, c.hyphen())
		}
		switch c.written {
		case solid: // stays as it is
		case apart, hyphenated:
			// Words such as "in" stand before many others. After a verb, such a word makes a
			// noun of it: to back up, the backup.
			if c.stop == 2 || c.stop == 1 && c.owner == c.second && len(j.terms) == 0 {
				continue
			}
			for _, t := range c.whole {
				if r.frequencies[t] > 0 {
					j.terms = append(j.terms, t)
				}
			}
		}
		if len(j.terms) > 0 {
			out = append(out, j)
		}
	}
	return out
}

// inCaseOf returns a word in upper or lower case as another one is written.
func inCaseOf(word, typed string) string {
	upper, lower, first := 0, 0, false
	for i, r := range typed {
		if unicode.IsUpper(r) {
			upper++
			first = first || i == 0
		} else if unicode.IsLower(r) {
			lower++
		}
	}
	switch {
	case upper > 1 && lower == 0:
		return strings.ToUpper(word)
	case first:
		runes := []rune(strings.ToLower(word))
		runes[0] = unicode.ToUpper(runes[0])
		return string(runes)
	case upper == 0:
		return strings.ToLower(word)
	}
	return word
}

// unknownWords returns the words of the question that no passage has, as far as they are
// corrected: no identifiers, numbers, quoted or excluded words, and no stop words.
func (r *respeller) unknownWords() []analysis.QueryWord {
	var out []analysis.QueryWord
	capitals := strings.ToUpper(r.question.text) == r.question.text
	exactEnd := 0
	for _, w := range r.question.parsed {
		if w.Exact && !w.Part {
			exactEnd = w.End
		}
		typed := r.question.text[w.Start:w.End]
		switch {
		case w.Stop || w.Exact || w.Quoted || w.Lone || w.End <= exactEnd:
			continue
		case !capitals && isMixedCase(typed):
			exactEnd = w.End // an identifier or an acronym
			continue
		case r.isCompoundWord(&w), slices.ContainsFunc(out, func(o analysis.QueryWord) bool { return o.Surface == w.Surface }):
			continue
		}
		if _, ok := spelling.Errors(w.Surface); ok && !r.isKnown(&w) {
			if out = append(out, w); len(out) == maxCorrections {
				break
			}
		}
	}
	return out
}

// isKnown reports whether any passage has a word. Of a question in an unknown language,
// the word stands for its stems in all languages. A misspelled word may have the stem of
// another word in a language that the collections do not have; it is not known then.
func (r *respeller) isKnown(w *analysis.QueryWord) bool {
	if r.frequencies[w.Surface] > 0 || r.frequencies[w.Terms[0]] > 0 {
		return true
	}
	if r.sum(w.Terms) == 0 {
		return false
	}
	var languages []string
	for _, p := range r.parts {
		if len(p.Languages) == 0 {
			return true
		}
		languages = append(languages, p.Languages...)
	}
	words := r.Analyzer.Parse(r.question.text[w.Start:w.End], languages...).Words
	return len(words) != 1 || r.sum(words[0].Terms) > 0
}

// isMixedCase reports whether a word has a capital after its first letter.
func isMixedCase(word string) bool {
	for i, r := range word {
		if i > 0 && unicode.IsUpper(r) {
			return true
		}
	}
	return false
}

// isCompoundWord reports whether a word of the question is written with a hyphen in the
// collections.
func (r *respeller) isCompoundWord(w *analysis.QueryWord) bool {
	return slices.ContainsFunc(r.compounds, func(c compound) bool {
		return c.written == solid && c.owner == w.Surface && r.frequencies[c.hyphen()] > 0
	})
}
