package rank

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/search/spelling"
)

// Correction follows the noisy channel model (Kernighan, Church and Gale 1990). A guess
// is likelier the more passages have it and the fewer errors it takes, and likelier if
// one passage has it together with the other words of the question.
const (
	maxGuesses   = 10  // terms that are considered for a word
	bestGuesses  = 4   // guesses for a word whose texts are read
	guessTexts   = 3   // passages whose texts are read for a guess
	guessPool    = 200 // passages in which guesses and other words are looked for together
	contextWords = MaxWords - maxCorrections*maxGuesses

	weightError   = 4 // the logarithm of 55: one error is so much likelier than two
	weightContext = 3
)

// A guess is a term that a word of the question may have been meant for.
type guess struct {
	SimilarTerm
	word     int     // of the unknown words
	context  float64 // share of the question's other words in the best passage
	passages []found // that have the term, the best first
}

// found is a passage of a part.
type found struct {
	part    int
	passage Candidate
	context float64
}

func (g *guess) likelihood() float64 {
	return math.Log(1+float64(g.Frequency)) - weightError*float64(g.Distance) + weightContext*g.context
}

// correct returns the corrections of unknown words, and the edits that make them.
func (r *respeller) correct(ctx context.Context) ([]edit, []Correction, error) {
	if toneless, err := r.isToneless(ctx); toneless || err != nil {
		if err != nil {
			return nil, nil, err
		}
		return r.restoreTones(ctx)
	}
	words, err := r.incompleteLast(ctx, r.unknownWords())
	if err != nil || len(words) == 0 {
		return nil, nil, err
	}
	guesses, err := r.guess(ctx, words)
	if err != nil {
		return nil, nil, err
	}
	if err := r.findTogether(ctx, words, guesses); err != nil {
		return nil, nil, err
	}
	best := make([][]*guess, len(words))
	for i := range guesses {
		g := &guesses[i]
		best[g.word] = append(best[g.word], g)
	}
	texts := make(map[uuid.UUID]Text)
	for i := range best {
		slices.SortStableFunc(best[i], func(a, b *guess) int { return cmp.Compare(b.likelihood(), a.likelihood()) })
		best[i] = best[i][:min(bestGuesses, len(best[i]))]
	}
	if err := r.readTexts(ctx, slices.Concat(best...), texts); err != nil {
		return nil, nil, err
	}
	var edits []edit
	var corrections []Correction
	splits := 0
	for i, w := range words {
		meant := r.meant(&w, best[i], texts)
		if meant == "" && splits < maxSplitWords {
			splits++
			if meant, err = r.split(ctx, &w); err != nil {
				return nil, nil, err
			}
		}
		if meant == "" {
			continue
		}
		typed := r.question.text[w.Start:w.End]
		meant = inCaseOf(meant, typed)
		corrections = append(corrections, Correction{From: typed, To: meant})
		for _, o := range r.question.parsed {
			if o.Surface == w.Surface && !o.Quoted {
				edits = append(edits, edit{o.Start, o.End, meant})
			}
		}
	}
	return edits, corrections, nil
}

// isPlausible reports whether a guess may be right. Two errors are one too many in a name,
// and in a word that no passage has together with another word of the question.
func (r *respeller) isPlausible(w *analysis.QueryWord, g *guess) bool {
	if g.Distance < 2 {
		return true
	}
	first, _ := utf8.DecodeRuneInString(r.question.text[w.Start:])
	if unicode.IsUpper(first) && w.Position > 0 && strings.ToUpper(r.question.text) != r.question.text {
		return false
	}
	return g.context > 0 || len(r.question.words) < 2
}

// incompleteLast leaves out the last word of a question that is being typed if it is the
// beginning of a word.
func (r *respeller) incompleteLast(ctx context.Context, words []analysis.QueryWord) ([]analysis.QueryWord, error) {
	n := len(words) - 1
	if n < 0 || !r.isPrefix(&words[n]) {
		return words, nil
	}
	terms, err := completeLast(ctx, r.parts, r.question)
	if err != nil {
		return nil, err
	}
	if len(terms) > 0 {
		return words[:n], nil
	}
	return words, nil
}

// isPrefix reports whether a word is the last one of a question that is being typed.
func (r *respeller) isPrefix(w *analysis.QueryWord) bool {
	return r.question.prefix != "" && w.End == len(r.question.text)
}

// guess returns terms that the words may have been meant for.
func (r *respeller) guess(ctx context.Context, words []analysis.QueryWord) ([]guess, error) {
	var out []guess
	for i := range words {
		if errors, _ := spelling.Errors(words[i].Surface); errors == 0 {
			continue
		}
		pattern, ok := spelling.NewPattern(words[i].Surface, words[i].Terms, r.isPrefix(&words[i]))
		if !ok {
			continue
		}
		var all []guess
		for _, p := range r.parts {
			similar, err := p.Source.Similar(ctx, pattern, maxGuesses)
			if err != nil {
				return nil, err
			}
			for _, t := range similar {
				if spelling.Unmark(t.Term) != t.Term {
					continue // with other tones it is another word
				}
				if n := slices.IndexFunc(all, func(g guess) bool { return g.Term == t.Term }); n >= 0 {
					all[n].Frequency += t.Frequency
				} else {
					all = append(all, guess{SimilarTerm: t, word: i})
				}
			}
		}
		slices.SortFunc(all, func(a, b guess) int {
			return cmp.Or(cmp.Compare(b.likelihood(), a.likelihood()), CompareSimilar(a.SimilarTerm, b.SimilarTerm))
		})
		out = append(out, all[:min(maxGuesses, len(all))]...)
	}
	return out, nil
}

// findTogether finds passages that have the guesses, best with the other words of the
// question.
func (r *respeller) findTogether(ctx context.Context, words []analysis.QueryWord, guesses []guess) error {
	if len(guesses) == 0 {
		return nil
	}
	l, err := r.togetherLookup(ctx, words, guesses)
	if err != nil {
		return err
	}
	for part, p := range r.parts {
		candidates, err := p.Source.Candidates(ctx, &l.request)
		if err != nil {
			return err
		}
		for _, c := range candidates {
			l.add(part, c, guesses)
		}
	}
	return r.findAlone(ctx, guesses, l.request.AverageBody)
}

// A togetherLookup looks for passages with guesses. The first words of its request are
// the terms of guesses, the others are the known words of the question.
type togetherLookup struct {
	request Request
	guesses [][]int // indexes of the guesses at a term, by word of the request
	unknown int     // number of unknown words of the question
	total   float64 // weight of the known words
}

func (r *respeller) togetherLookup(ctx context.Context, words []analysis.QueryWord, guesses []guess) (*togetherLookup, error) {
	passages, averageBody, err := r.size(ctx)
	if err != nil {
		return nil, err
	}
	l := &togetherLookup{unknown: len(words)}
	owner := make(map[string]int) // of terms: index of the request's word
	for i := range guesses {
		n, ok := owner[guesses[i].Term]
		if !ok {
			n = len(l.request.Words)
			owner[guesses[i].Term] = n
			l.request.Words = append(l.request.Words, Word{Terms: []string{guesses[i].Term}})
			l.guesses = append(l.guesses, nil)
		}
		l.guesses[n] = append(l.guesses[n], i)
	}
	for _, w := range r.question.words {
		var terms []string
		for _, t := range w.terms {
			if _, ok := owner[t]; !ok && r.frequencies[t] > 0 {
				terms = append(terms, t)
			}
		}
		if len(terms) > 0 && len(l.request.Words) < len(l.guesses)+contextWords {
			weight := idf(passages, r.sum(terms))
			l.request.Words = append(l.request.Words, Word{Terms: terms, Weight: weight})
			l.total += weight
		}
	}
	for n, all := range l.guesses { // passages with a guess come before those without
		l.request.Words[n].Weight = 2*l.total + idf(passages, guesses[all[0]].Frequency)
	}
	l.request.AverageBody, l.request.MatchWords, l.request.TopLexical = averageBody, len(l.request.Words), guessPool
	return l, nil
}

// add adds a passage to the guesses that it has.
func (l *togetherLookup) add(part int, c Candidate, guesses []guess) {
	matched := make([]bool, len(l.request.Words))
	for _, m := range c.Matches {
		matched[m.Word] = true
	}
	c.Matches = nil // they are valid until the next request
	known := 0.0
	for n := len(l.guesses); n < len(matched); n++ {
		if matched[n] {
			known += l.request.Words[n].Weight / l.total
		}
	}
	guessed := make(map[int]bool) // unknown words with a guess in the passage
	for n, all := range l.guesses {
		for _, i := range all {
			guessed[guesses[i].word] = guessed[guesses[i].word] || matched[n]
		}
	}
	others := 0.0
	for _, ok := range guessed {
		if ok {
			others++
		}
	}
	context := (known + others - 1) / float64(l.unknown)
	for n, all := range l.guesses {
		if matched[n] {
			for _, i := range all {
				guesses[i].add(found{part: part, passage: c, context: context})
			}
		}
	}
}

// size returns the number of passages, and the mean length of their bodies in words.
func (r *respeller) size(ctx context.Context) (passages int, averageBody float64, err error) {
	bodyWords := int64(0)
	for _, p := range r.parts {
		n, err := p.Source.Statistics(ctx)
		if err != nil {
			return 0, 0, err
		}
		passages, bodyWords = passages+n.Passages, bodyWords+n.BodyWords
	}
	if passages > 0 {
		averageBody = float64(bodyWords) / float64(passages)
	}
	return passages, averageBody, nil
}

// add adds a passage that has the guess.
func (g *guess) add(f found) {
	g.context = max(g.context, f.context)
	g.passages = append(g.passages, f)
	slices.SortStableFunc(g.passages, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.context, a.context), cmp.Compare(b.passage.Lexical, a.passage.Lexical), slices.Compare(a.passage.Passage[:], b.passage.Passage[:]))
	})
	g.passages = g.passages[:min(guessTexts, len(g.passages))]
}

// findAlone finds passages of likely guesses that have none yet, because other guesses
// have many.
func (r *respeller) findAlone(ctx context.Context, guesses []guess, averageBody float64) error {
	rest := maxCorrections
	for i := range guesses {
		g := &guesses[i]
		if len(g.passages) > 0 || rest == 0 {
			continue
		}
		rest--
		request := Request{Words: []Word{{Terms: []string{g.Term}, Weight: 1}}, AverageBody: averageBody, TopLexical: guessTexts}
		for part, p := range r.parts {
			candidates, err := p.Source.Candidates(ctx, &request)
			if err != nil {
				return err
			}
			for _, c := range candidates {
				c.Matches = nil
				g.add(found{part: part, passage: c})
			}
		}
	}
	return nil
}

// readTexts reads the texts of the passages of guesses.
func (r *respeller) readTexts(ctx context.Context, guesses []*guess, texts map[uuid.UUID]Text) error {
	wanted := make([][]Candidate, len(r.parts))
	for _, g := range guesses {
		for _, f := range g.passages {
			if _, ok := texts[f.passage.Passage]; !ok {
				texts[f.passage.Passage] = Text{}
				wanted[f.part] = append(wanted[f.part], f.passage)
			}
		}
	}
	for part, passages := range wanted {
		if len(passages) == 0 {
			continue
		}
		read, err := r.Texts(ctx, part, passages)
		if err != nil {
			return err
		}
		for i := range passages {
			texts[passages[i].Passage] = read[i]
		}
	}
	return nil
}

// meant returns the word of a text that is likeliest meant by a word; "" if none is near.
func (r *respeller) meant(w *analysis.QueryWord, guesses []*guess, texts map[uuid.UUID]Text) string {
	best, most := "", math.Inf(-1)
	for _, g := range guesses {
		surface, errors, ok := r.surfaceOf(w, g, texts)
		if !ok {
			continue
		}
		exact := *g
		exact.Distance = errors
		if l := exact.likelihood(); l > most && r.isPlausible(w, &exact) {
			best, most = surface, l
		}
	}
	return best
}

// surfaceOf returns the word of the guess's passages that is nearest to a word, and the
// number of errors between them. ok is false if none is near.
func (r *respeller) surfaceOf(w *analysis.QueryWord, g *guess, texts map[uuid.UUID]Text) (best string, errors int, ok bool) {
	most, _ := spelling.Errors(w.Surface)
	word := spelling.Unmark(w.Surface)
	known := r.Knows != nil && r.Knows(w.Surface)
	errors = most + 1
	for _, f := range g.passages {
		t := texts[f.passage.Passage]
		for _, token := range r.Analyzer.Tokens(t.Text, t.Language) {
			if token.Term != g.Term {
				continue
			}
			surface := t.Text[token.Start:token.End]
			if known && single(word) != single(spelling.Unmark(surface)) {
				continue
			}
			if d := r.distance(word, surface, r.isPrefix(w)); d < errors {
				best, errors = surface, d
			}
		}
	}
	return best, errors, errors <= most
}

// single returns a word with one letter in place of each double one.
func single(word string) string {
	return string(slices.Compact([]rune(word)))
}

// distance returns the number of errors between a word and a word of a text, or the
// nearest beginning of it.
func (r *respeller) distance(word, surface string, prefix bool) int {
	forms := r.Analyzer.Parse(surface).Words
	if len(forms) == 0 {
		return math.MaxInt
	}
	normal := []rune(spelling.Unmark(forms[0].Surface))
	least := spelling.Distance(word, string(normal))
	if prefix {
		for n := range normal {
			least = min(least, spelling.Distance(word, string(normal[:n])))
		}
	}
	return least
}
