package rank

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/quickselect"
)

// The second pass: terms of the first pass's best passages join the question,
// weighted by how much they stand in passages that answer it (relevance models,
// Lavrenko and Croft 2001; mixed with the question as RM3, Abdul-Jaleel et al.
// 2004), and its vector moves towards theirs (Rocchio 1971). A passage that gave
// terms is scored by the terms of the others only: else the first passage would
// always confirm itself.
const (
	feedbackPassages = 5
	feedbackTerms    = 20
	feedbackWeight   = 0.4 // share of the terms that were added
	feedbackVectors  = 3
	vectorWeight     = 1.5 // of the passages' vectors together, the question's being 1
	// feedbackRarity is how rare an added term must be that stands in more than
	// feedbackFew passages: those in a tenth of a large collection add little to
	// any score.
	feedbackRarity = 2.3
	feedbackFew    = 4000
)

// Where few passages stand out they are what was asked for; their terms would
// only pull others up. The gate is open (1) while the document in tenth place
// still has much of the score of the first, and closed (0) when it has little.
// Vectors move all the same: they blur less. A question that names something
// exactly, or is still being typed, gets no second pass at all.
const (
	gateOpen   = 0.35 // how far behind the first
	gateClosed = 0.55
	gatePlace  = 9
)

// feedback is what the first pass taught.
type feedback struct {
	gate  float64 // 0 for no second pass, to 1
	words []Word  // the question's words with their weights, then the added ones
	from  []source
	// shares are of the terms of these passages.
	shares []shares
	// own are the places of the question's words by their terms.
	own map[string]int
	// chosen are the terms to add by all of these passages, then by all but each.
	chosen [feedbackPassages + 1][]weighted
}

// gave is the source that is a passage of a part; nil for any other.
func (f *feedback) gave(part int, ref uint64) *source {
	for i := range f.from {
		if f.from[i].ref == ref && f.from[i].part == part {
			return &f.from[i]
		}
	}
	return nil
}

// source is a passage that gave terms.
type source struct {
	part   int
	ref    uint64
	weight float64     // of all that gave terms, 1 together
	terms  []TermCount // by their bytes; none where the gate is closed
	words  int32
	vector []float32
}

// again takes the second pass: it looks at the candidates of the first one for
// what the final score needs to know, with what they taught where the gate is
// open. Passages that only the added words would find are not looked for, which
// seldom are among the best (Diaz, Condensed list relevance models, 2015).
func (s *search) again(ctx context.Context) error {
	if err := s.learn(ctx); err != nil {
		return err
	}
	for i, p := range s.parts {
		r := &Request{
			Words: s.words, Report: len(s.words), AverageBody: s.average, Vector: p.Vector,
			Also: s.pools[i], Memory: &s.memory.again[i],
		}
		if s.feedback.gate > 0 {
			r.Words = s.feedback.words
		}
		if len(s.feedback.from) > 0 {
			r.Vector = s.moved(i, p.Vector, nil)
			var err error
			if s.chances[i], err = s.chance(ctx, i, r.Vector); err != nil {
				return err
			}
		}
		if err := s.gatherPool(ctx, i, r); err != nil {
			return err
		}
	}
	return nil
}

// keyed is the number of a candidate with what it is sorted by.
type keyed struct {
	key float64
	at  int32
}

// gateLook is among how many of the best passages the gate looks for documents.
const gateLook = 200

type ranking struct {
	part int
	c    *Candidate
	x    float64
}

// learn decides whether there is a second pass and gathers its terms and vectors.
func (s *search) learn(ctx context.Context) error {
	if s.question.exact || len(s.words) == 0 || s.question.prefix != "" {
		return nil
	}
	size := 0
	for _, pool := range s.pools {
		size += len(pool)
	}
	order := slices.Grow(s.memory.order[:0], size)
	for part := range s.pools {
		for i := range s.pools[part] {
			c := &s.pools[part][i]
			if c.Lexical > 0 {
				order = append(order, ranking{part, c, c.Lexical})
			}
		}
	}
	better := func(a, b ranking) int {
		if c := falling(a.x, b.x); c != 0 {
			return c
		}
		return bytes.Compare(a.c.Passage[:], b.c.Passage[:])
	}
	s.memory.order = order
	order = quickselect.First(order, gateLook, better)
	slices.SortFunc(order, better)
	s.feedback.gate = gate(order)
	order = order[:min(len(order), feedbackPassages)]
	total := 0.0
	for _, o := range order {
		total += o.x
	}
	for part, p := range s.parts {
		var from []Candidate
		var weights []float64
		vectors := 0 // how many of them move the question's vector
		for n, o := range order {
			if o.part == part {
				from, weights = append(from, *o.c), append(weights, o.x/total)
				if n < feedbackVectors {
					vectors++
				}
			}
		}
		if len(from) == 0 {
			continue
		}
		var terms [][]TermCount
		var found [][]float32
		var err error
		if s.feedback.gate > 0 {
			if terms, err = p.Source.Terms(ctx, from); err != nil {
				return err
			}
		}
		if len(p.Vector) > 0 && vectors > 0 {
			if found, err = p.Source.Vectors(ctx, from[:vectors]); err != nil {
				return err
			}
		}
		for i := range from {
			x := source{part: part, ref: from[i].Ref, weight: weights[i], words: from[i].Words[index.FieldBody]}
			if len(terms) > i {
				x.terms = terms[i]
			}
			if len(found) > i && len(found[i]) == len(p.Vector) {
				x.vector = found[i]
			}
			s.feedback.from = append(s.feedback.from, x)
		}
	}
	if s.feedback.gate == 0 {
		return nil
	}
	s.divide()
	if err := s.rarities(ctx); err != nil {
		return err
	}
	s.feedback.own = make(map[string]int, len(s.terms))
	for i, w := range s.words {
		for _, term := range w.Terms {
			s.feedback.own[term] = i
		}
	}
	s.feedback.words = s.expand(nil)
	return nil
}

// rarities looks up how rare the terms are that any expansion of the question has.
func (s *search) rarities(ctx context.Context) error {
	var terms []string
	var places []int
	for i := range len(s.feedback.from) + 1 {
		s.feedback.chosen[i] = s.choose(i - 1)
		for _, t := range s.feedback.chosen[i] {
			if x := &s.feedback.shares[t.share]; !x.asked {
				x.asked = true
				terms, places = append(terms, t.term), append(places, t.share)
			}
		}
	}
	counts := make([]int, len(terms))
	for _, p := range s.parts {
		n, err := p.Source.Frequencies(ctx, terms)
		if err != nil {
			return err
		}
		for i := range counts {
			counts[i] += n[i]
		}
	}
	for i, place := range places {
		x := &s.feedback.shares[place]
		x.rarity = rarity(s.query.Passages, counts[i])
		x.common = x.rarity < feedbackRarity && counts[i] > feedbackFew
	}
	return nil
}

// confirmed scores a passage that gave terms by what the others taught: its
// lexical score and its similarity.
func (s *search) confirmed(f *source) (lexical, similarity float64) {
	norm := BodyNorm(f.words, s.average)
	for _, w := range s.expand(f) {
		var sum Counts
		for _, term := range w.Terms {
			at, ok := slices.BinarySearchFunc(f.terms, TermCount{Term: term}, byTerm)
			if !ok {
				continue
			}
			c := f.terms[at].Counts
			sum.Title, sum.Heading, sum.Path = sum.Title || c.Title, sum.Heading || c.Heading, sum.Path || c.Path
			sum.Body = min(sum.Body+c.Body, MaxBody)
		}
		lexical += w.Weight * Damped(sum, norm)
	}
	if f.vector == nil {
		return lexical, math.NaN()
	}
	for i, x := range s.moved(f.part, s.parts[f.part].Vector, f) {
		similarity += float64(x) * float64(f.vector[i])
	}
	return lexical, similarity
}

// gate says from the documents' best scores, best first, how much is to be
// learned from the best passages.
func gate(order []ranking) float64 {
	seen := make(map[uuid.UUID]bool)
	for _, o := range order {
		if seen[o.c.Document] {
			continue
		}
		seen[o.c.Document] = true
		if len(seen) > gatePlace {
			gap := 1 - o.x/order[0].x
			return min(max((gateClosed-gap)/(gateClosed-gateOpen), 0), 1)
		}
	}
	return 0
}

// moved is the question's vector of a part, moved towards the vectors of the
// passages that gave feedback, without one of them.
func (s *search) moved(part int, vector []float32, without *source) []float32 {
	if len(vector) == 0 {
		return nil
	}
	var out []float32
	const share = float32(vectorWeight / feedbackVectors)
	for i := range s.feedback.from {
		f := &s.feedback.from[i]
		if f.part != part || f.vector == nil || f == without {
			continue
		}
		if out == nil {
			out = slices.Clone(vector)
		}
		for j := range out {
			out[j] += share * f.vector[j]
		}
	}
	if out == nil {
		return vector
	}
	square := 0.0
	for _, x := range out {
		square += float64(x) * float64(x)
	}
	if square > 0 {
		scale := float32(1 / math.Sqrt(square))
		for j := range out {
			out[j] *= scale
		}
	}
	return out
}

// expand is the question with the terms of the passages that gave feedback,
// except those of one of them.
func (s *search) expand(without *source) []Word {
	share := feedbackWeight
	n := float64(len(s.words))
	out := make([]Word, len(s.words), len(s.words)+feedbackTerms)
	chosen := s.feedback.chosen[s.feedback.place(without)+1]
	if len(chosen) == 0 {
		share = 0
	}
	for i, w := range s.words {
		out[i] = Word{Terms: w.Terms, Weight: (1 - share) * w.Weight / n}
	}
	sum := 0.0
	for _, t := range chosen {
		sum += t.weight
	}
	for _, t := range chosen {
		x := share * t.weight / sum * s.feedback.shares[t.share].rarity
		if i, known := s.feedback.own[t.term]; known {
			out[i].Weight += x
		} else if x > 0 && !s.feedback.shares[t.share].common && len(out) < MaxWords {
			out = append(out, Word{Terms: s.feedback.shares[t.share].term[:], Weight: x})
		}
	}
	return out
}

// weighted is a term to add; share is its place among feedback.shares.
type weighted struct {
	term   string
	weight float64
	share  int
}

// shares are what each passage that gave feedback says a term is worth.
type shares struct {
	term   [1]string // a list, as a Word has
	of     [feedbackPassages]float64
	rarity float64 // of the terms that are chosen
	common bool    // too common to be added
	asked  bool    // the rarity has been looked up
}

func byTerm(a, b TermCount) int { return strings.Compare(a.Term, b.Term) }

// divide weighs every term of the passages that gave feedback, in the order of
// the terms' bytes.
func (s *search) divide() {
	f := &s.feedback
	var rest [feedbackPassages][]TermCount
	var scale [feedbackPassages]float64
	for i := range f.from {
		length := 0
		for _, t := range f.from[i].terms {
			length += int(t.Counts.Body)
		}
		rest[i], scale[i] = f.from[i].terms, f.from[i].weight/float64(max(length, 1))
	}
	f.shares = s.memory.shares[:0]
	for {
		term, any := "", false
		for _, r := range rest {
			if len(r) > 0 && (!any || r[0].Term < term) {
				term, any = r[0].Term, true
			}
		}
		if !any {
			break
		}
		x, weighty := shares{term: [1]string{term}}, false
		for i, r := range rest {
			if len(r) == 0 || r[0].Term != term {
				continue
			}
			rest[i] = r[1:]
			n := float64(r[0].Counts.Body)
			if r[0].Counts.Title {
				n++
			}
			x.of[i] = scale[i] * n
			weighty = weighty || n > 0
		}
		if weighty && speaks(term) && !s.ranker.stops[term] {
			f.shares = append(f.shares, x)
		}
	}
	s.memory.shares = f.shares
}

// place is which of the passages that gave terms a source is, -1 for none.
func (f *feedback) place(one *source) int {
	return slices.IndexFunc(f.from, func(s source) bool { return one != nil && s.part == one.part && s.ref == one.ref })
}

// choose returns the terms that say most about the passages that gave feedback,
// but for one of them; -1 is none.
func (s *search) choose(out int) []weighted {
	best := make([]weighted, 0, feedbackTerms+1)
	less := func(a, b weighted) int {
		if c := falling(a.weight, b.weight); c != 0 {
			return c
		}
		return strings.Compare(a.term, b.term)
	}
	for k := range s.feedback.shares {
		x := weighted{term: s.feedback.shares[k].term[0], share: k}
		for i, share := range s.feedback.shares[k].of {
			if i != out {
				x.weight += share
			}
		}
		if x.weight == 0 {
			continue
		}
		if len(best) == feedbackTerms {
			if last := &best[feedbackTerms-1]; x.weight < last.weight || less(x, *last) >= 0 {
				continue
			}
		}
		place, _ := slices.BinarySearchFunc(best, x, less)
		best = slices.Insert(best, place, x)
		best = best[:min(len(best), feedbackTerms)]
	}
	return best
}

// speaks reports terms that can say something by themselves: numbers and single
// letters cannot.
func speaks(term string) bool {
	r, size := utf8.DecodeRuneInString(term)
	if size == len(term) && r < 0x2E80 {
		return false
	}
	return strings.ContainsFunc(term, unicode.IsLetter)
}
