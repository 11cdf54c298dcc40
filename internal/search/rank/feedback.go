package rank

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/quickselect"
)

// The second pass is pseudo-relevance feedback. Terms of the first pass's best
// passages join the question. A term's weight is its mean weight by BM25F in these
// passages, times how much oftener it occurs in them than in the collection, as in
// the Kullback-Leibler divergence (Carpineto et al., An information-theoretic
// approach to automatic query expansion, 2001). The terms are interpolated with the
// question as in RM3 (Abdul-Jaleel et al. 2004). The question's vector moves towards
// the vectors of these passages (Rocchio 1971). A feedback passage is itself scored
// by the other feedback passages only: otherwise the first passage would always
// confirm itself.
const (
	feedbackPassages = 8
	maxFeedbackTerms = 64
	feedbackWeight   = 0.45 // share of the added terms in the expanded question
	// Feedback passages have the best sum of lexical score, divided by that of the
	// first, and z-score times feedbackZScore.
	feedbackZScore  = 0.17
	feedbackVectors = 3
	rocchioWeight   = 1.5 // of the feedback vectors together; the question's is 1
	// A term is added only if its idf is at least minFeedbackIDF, or its document
	// frequency at most maxRareFrequency. A term that occurs in a tenth of a large
	// collection adds little to any score.
	minFeedbackIDF   = 2.3
	maxRareFrequency = 4000
)

// The gate. Where few documents stand out they are the answer, and their terms
// would only pull others up. The gate is open (1) while the document at gatePlace
// still has most of the score of the first, and closed (0) when it has little of
// it. Vectors move even with a closed gate, because they blur a question less. A
// question that names something exactly, or is still being typed, has no feedback.
const (
	gateOpen   = 0.35 // score gap to the first document, as a share of its score
	gateClosed = 0.55
	gatePlace  = 9   // from 0
	gateDepth  = 200 // passages in which documents are looked for
)

// feedback is what the first pass contributes to the second.
type feedback struct {
	gate     float64 // 0, closed, to 1, open
	words    []Word  // the expanded question: its own words first
	passages []feedbackPassage
	terms    []feedbackTerm // of the passages
	// questionWords are the indexes of the question's words by term.
	questionWords map[string]int
	// topTerms are the terms that expand the question, estimated from all passages
	// (index 0), and from all but passage i (index i+1).
	topTerms [feedbackPassages + 1][]weightedTerm
}

// passage returns the feedback passage with a reference; nil if there is none.
func (f *feedback) passage(part int, ref uint64) *feedbackPassage {
	for i := range f.passages {
		if f.passages[i].ref == ref && f.passages[i].part == part {
			return &f.passages[i]
		}
	}
	return nil
}

// A feedbackPassage contributes terms and a vector.
type feedbackPassage struct {
	part   int
	ref    uint64
	weight float64     // its share of the passages' scores
	terms  []TermCount // by their bytes; none where the gate is closed
	words  int32       // length of the body
	vector []float32   // nil if it moves no vector
}

// A feedbackTerm is a term of the feedback passages.
type feedbackTerm struct {
	term    [1]string                 // an array, so that a Word can slice it
	weights [feedbackPassages]float64 // BM25F of the term in each passage, times the passage's weight
	share   float64                   // of the collection's passages that have it
	idf     float64
	common  bool // too common to be added
}

// weightedTerm is a term that expands the question.
type weightedTerm struct {
	term   string
	weight float64
	index  int // in feedback.terms
}

// secondPass scores the candidates of the first pass again, by all words and with
// every similarity, and by the expanded question where the gate is open. It looks
// for no passages that only the added terms match: these are seldom among the best
// (Diaz, Condensed list relevance models, 2015).
func (s *search) secondPass(ctx context.Context) error {
	if err := s.gatherFeedback(ctx); err != nil {
		return err
	}
	for i, p := range s.parts {
		r := &Request{
			Words: s.words, MatchWords: len(s.words), AverageBody: s.averageBody, Vector: p.Vector,
			Rescore: s.pools[i], Buffers: &s.scratch.secondPass[i],
		}
		if s.feedback.gate > 0 {
			r.Words = s.feedback.words
		}
		if len(s.feedback.passages) > 0 {
			r.Vector = s.rocchio(i, nil)
			var err error
			if s.backgrounds[i], err = s.background(ctx, i, r.Vector); err != nil {
				return err
			}
		}
		if err := s.fillPool(ctx, i, r); err != nil {
			return err
		}
	}
	return nil
}

// lexicalEntry is a candidate in the order of lexical scores.
type lexicalEntry struct {
	part      int
	candidate *Candidate
	score     float64
}

// gatherFeedback sets the gate, reads the feedback passages and expands the
// question.
func (s *search) gatherFeedback(ctx context.Context) error {
	if s.question.exact || len(s.words) == 0 || s.question.prefix != "" {
		return nil
	}
	order := s.bestByWords()
	s.feedback.gate = gate(order)
	order = s.selectFeedback(order)
	total := 0.0
	for _, o := range order {
		total += o.score
	}
	for part := range s.parts {
		if err := s.readFeedback(ctx, part, order, total); err != nil {
			return err
		}
	}
	if s.feedback.gate == 0 {
		return nil
	}
	s.weightFeedbackTerms()
	if err := s.chooseTerms(ctx); err != nil {
		return err
	}
	s.feedback.questionWords = make(map[string]int, len(s.terms))
	for i, w := range s.words {
		for _, term := range w.Terms {
			s.feedback.questionWords[term] = i
		}
	}
	s.feedback.words = s.expand(-1)
	return nil
}

// bestByWords returns the candidates with the best lexical scores, at most
// gateDepth, best first.
func (s *search) bestByWords() []lexicalEntry {
	size := 0
	for _, pool := range s.pools {
		size += len(pool)
	}
	order := slices.Grow(s.scratch.lexicalOrder[:0], size)
	for part := range s.pools {
		for i := range s.pools[part] {
			c := &s.pools[part][i]
			if c.Lexical > 0 {
				order = append(order, lexicalEntry{part, c, c.Lexical})
			}
		}
	}
	s.scratch.lexicalOrder = order
	order = quickselect.First(order, gateDepth, compareEntries)
	slices.SortFunc(order, compareEntries)
	return order
}

func compareEntries(a, b lexicalEntry) int {
	if c := descending(a.score, b.score); c != 0 {
		return c
	}
	return bytes.Compare(a.candidate.Passage[:], b.candidate.Passage[:])
}

// gate returns how far the gate is open, given the passages with the best lexical
// scores, best first.
func gate(order []lexicalEntry) float64 {
	seen := make(map[uuid.UUID]bool)
	for _, o := range order {
		if seen[o.candidate.Document] {
			continue
		}
		seen[o.candidate.Document] = true
		if len(seen) > gatePlace {
			gap := 1 - o.score/order[0].score
			return min(max((gateClosed-gap)/(gateClosed-gateOpen), 0), 1)
		}
	}
	return 0
}

// selectFeedback returns the feedback passages, given the passages with the best
// lexical scores.
func (s *search) selectFeedback(order []lexicalEntry) []lexicalEntry {
	if len(order) == 0 {
		return nil
	}
	best := order[0].score
	for i := range order {
		o := &order[i]
		o.score /= best
		// The first pass knows the similarity of the most similar passages alone.
		if z := s.zScore(o.part, o.candidate.Similarity); z > 0 {
			o.score += feedbackZScore * s.known[o.part] * z
		}
	}
	order = quickselect.First(order, feedbackPassages, compareEntries)
	slices.SortFunc(order, compareEntries)
	for i := range order {
		order[i].score = order[i].candidate.Lexical
	}
	return order
}

// readFeedback adds the passages of a part that are in order to the feedback, with
// their terms if the gate is open, and with the vectors of the first
// feedbackVectors in order. total is the sum of the scores in order.
func (s *search) readFeedback(ctx context.Context, part int, order []lexicalEntry, total float64) error {
	var candidates []Candidate
	var weights []float64
	vectorCount := 0
	for n, o := range order {
		if o.part == part {
			candidates, weights = append(candidates, *o.candidate), append(weights, o.score/total)
			if n < feedbackVectors {
				vectorCount++
			}
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	p := &s.parts[part]
	var terms [][]TermCount
	var vectors [][]float32
	var err error
	if s.feedback.gate > 0 {
		if terms, err = p.Source.Terms(ctx, candidates); err != nil {
			return err
		}
	}
	if len(p.Vector) > 0 && vectorCount > 0 {
		if vectors, err = p.Source.Vectors(ctx, candidates[:vectorCount]); err != nil {
			return err
		}
	}
	for i := range candidates {
		f := feedbackPassage{part: part, ref: candidates[i].Ref, weight: weights[i], words: candidates[i].FieldWords[index.FieldBody]}
		if len(terms) > i {
			f.terms = terms[i]
		}
		if len(vectors) > i && len(vectors[i]) == len(p.Vector) {
			f.vector = vectors[i]
		}
		s.feedback.passages = append(s.feedback.passages, f)
	}
	return nil
}

// chooseTerms looks up how often the terms of the feedback passages occur in the
// collection, and sets the topTerms.
func (s *search) chooseTerms(ctx context.Context) error {
	f := &s.feedback
	terms := make([]string, len(f.terms))
	for i := range f.terms {
		terms[i] = f.terms[i].term[0]
	}
	frequencies, err := s.documentFrequencies(ctx, terms)
	if err != nil {
		return err
	}
	for i, n := range frequencies {
		t := &f.terms[i]
		t.idf = idf(s.query.Passages+extraPassages, n)
		t.share = (float64(n) + 1) / (float64(s.query.Passages) + 2)
		t.common = t.idf < minFeedbackIDF && n > maxRareFrequency
	}
	for i := range len(f.passages) + 1 {
		f.topTerms[i] = s.topTerms(i - 1)
	}
	return nil
}

// leaveOneOut scores a feedback passage by the question that the other feedback
// passages expand. It returns the passage's lexical score and its similarity, NaN
// if that is unknown.
func (s *search) leaveOneOut(f *feedbackPassage) (lexical, similarity float64) {
	norm := LengthNorm(f.words, s.averageBody)
	for _, w := range s.expand(s.feedback.index(f)) {
		var sum Counts
		for _, term := range w.Terms {
			i, ok := slices.BinarySearchFunc(f.terms, TermCount{Term: term}, compareTerms)
			if !ok {
				continue
			}
			c := f.terms[i].Counts
			sum.Title, sum.Heading, sum.Path = sum.Title || c.Title, sum.Heading || c.Heading, sum.Path || c.Path
			sum.Body = min(sum.Body+c.Body, MaxBody)
		}
		lexical += w.Weight * Saturation(sum, norm)
	}
	if f.vector == nil {
		return lexical, math.NaN()
	}
	for i, x := range s.rocchio(f.part, f) {
		similarity += float64(x) * float64(f.vector[i])
	}
	return lexical, similarity
}

// rocchio returns the question's vector for a part, moved towards the vectors of
// the feedback passages other than excluded.
func (s *search) rocchio(part int, excluded *feedbackPassage) []float32 {
	vector := s.parts[part].Vector
	if len(vector) == 0 {
		return nil
	}
	var out []float32
	const weight = float32(rocchioWeight / feedbackVectors)
	for i := range s.feedback.passages {
		f := &s.feedback.passages[i]
		if f.part != part || f.vector == nil || f == excluded {
			continue
		}
		if out == nil {
			out = slices.Clone(vector)
		}
		for j := range out {
			out[j] += weight * f.vector[j]
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

// expand returns the question expanded by the terms of the feedback passages other
// than the excluded one; -1 excludes none.
func (s *search) expand(excluded int) []Word {
	share := feedbackWeight
	out := make([]Word, len(s.words), len(s.words)+maxFeedbackTerms)
	top := s.feedback.topTerms[excluded+1]
	if len(top) == 0 {
		share = 0
	}
	for i, w := range s.words {
		out[i] = Word{Terms: w.Terms, Weight: (1 - share) * w.Weight / s.length}
	}
	sum := 0.0
	for _, t := range top {
		sum += t.weight
	}
	for _, t := range top {
		f := &s.feedback.terms[t.index]
		weight := share * t.weight / sum * f.idf
		if i, ok := s.feedback.questionWords[t.term]; ok {
			out[i].Weight += weight
		} else if weight > 0 && !f.common && len(out) < MaxWords {
			out = append(out, Word{Terms: f.term[:], Weight: weight})
		}
	}
	return out
}

func compareTerms(a, b TermCount) int { return strings.Compare(a.Term, b.Term) }

// weightFeedbackTerms lists the terms of the feedback passages with their weights in
// each. Terms are in the order of their bytes.
func (s *search) weightFeedbackTerms() {
	f := &s.feedback
	stops := analysis.StopTerms()
	var unread [feedbackPassages][]TermCount
	var norms [feedbackPassages]float64
	for i := range f.passages {
		unread[i], norms[i] = f.passages[i].terms, LengthNorm(f.passages[i].words, s.averageBody)
	}
	f.terms = s.scratch.feedbackTerms[:0]
	for {
		next, found := "", false
		for _, terms := range unread {
			if len(terms) > 0 && (!found || terms[0].Term < next) {
				next, found = terms[0].Term, true
			}
		}
		if !found {
			break
		}
		t := feedbackTerm{term: [1]string{next}}
		for i, terms := range unread {
			if len(terms) == 0 || terms[0].Term != next {
				continue
			}
			unread[i] = terms[1:]
			t.weights[i] = f.passages[i].weight * Saturation(terms[0].Counts, norms[i])
		}
		if isContentTerm(next) && !stops[next] {
			f.terms = append(f.terms, t)
		}
	}
	s.scratch.feedbackTerms = f.terms
}

// index returns the index of a feedback passage.
func (f *feedback) index(p *feedbackPassage) int {
	return slices.IndexFunc(f.passages, func(o feedbackPassage) bool { return o.part == p.part && o.ref == p.ref })
}

// topTerms returns the terms with the greatest weights in the feedback passages
// other than the excluded one; -1 excludes none.
func (s *search) topTerms(excluded int) []weightedTerm {
	top := make([]weightedTerm, 0, maxFeedbackTerms+1)
	compare := func(a, b weightedTerm) int {
		if c := descending(a.weight, b.weight); c != 0 {
			return c
		}
		return strings.Compare(a.term, b.term)
	}
	passages := float64(len(s.feedback.passages))
	if excluded >= 0 {
		passages--
	}
	for k := range s.feedback.terms {
		t := weightedTerm{term: s.feedback.terms[k].term[0], index: k}
		having := 0.0 // passages that have the term
		for i, w := range s.feedback.terms[k].weights {
			if i != excluded && w > 0 {
				having++
				t.weight += w
			}
		}
		ratio := having / passages / s.feedback.terms[k].share
		if having == 0 || ratio <= 1 {
			continue
		}
		t.weight *= math.Log(ratio)
		if len(top) == maxFeedbackTerms {
			if last := &top[maxFeedbackTerms-1]; t.weight < last.weight || compare(t, *last) >= 0 {
				continue
			}
		}
		i, _ := slices.BinarySearchFunc(top, t, compare)
		top = slices.Insert(top, i, t)
		top = top[:min(len(top), maxFeedbackTerms)]
	}
	return top
}
