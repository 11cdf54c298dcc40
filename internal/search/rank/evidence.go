package rank

import (
	"math"
	"slices"

	"github.com/magpie-search/magpie/internal/index"
)

// Evidence is what speaks for a passage.
type Evidence struct {
	Lexical   float64 // BM25F, of the best that the question's words could give: 0 to 1
	Relative  float64 // BM25F, of the best passage's
	Feedback  float64 // BM25F of the second pass, of the best passage's
	Words     float64 // both together, as far as the gate lets the second pass in
	Rise      float64 // similarity in standard deviations above chance; 0 when unknown
	Proximity float64 // how far neighbours in the question are neighbours here: 0 to 1
	Coverage  float64 // rarity of the words that stand anywhere in the passage: 0 to 1
	Title     float64 // how far question and title are the same words: 0 to 1
	Heading   float64 // how far question and own heading are the same words: 0 to 1
	Start     bool    // the document's first passage
	Meaning   float64 // how far the rise of a model that knows meanings is beyond chance; 0 for the builtin one
	Fresh     float64 // how new the document is: 0 to 1
	Order     float64 // the sum by which passages are ordered
}

// QueryEvidence is what the search as a whole tells about whether there is an answer.
type QueryEvidence struct {
	Passages int      // of all that was searched
	Words    int      // of the question
	Gate     float64  // how much was learned from the first pass
	Top      Evidence // of the first passage
}

// feedbackShare is how much of the lexical score the second pass gives where
// the gate is open. It is not fitted: questions made from documentation have one
// answer each, and feedback is for those that have several.
const feedbackShare = 0.75

// weightFresh tells versions of the same text apart.
const weightFresh = 0.01

// A model that knows meanings may carry a passage alone, but the best of many
// unrelated passages stands some deviations above chance as well: that much
// counts for nothing. No such model was at hand for fitting.
const (
	meaningFrom    = 2.5
	weightMeaning  = 0.15
	certainMeaning = 1.8
)

// Exact is 1 where question and title are the same words, less where question
// and heading are: the passage is what was asked for.
func (e *Evidence) Exact() float64 {
	switch {
	case e.Title == 1:
		return 1
	case e.Heading == 1:
		return 0.7
	default:
		return 0
	}
}

// order is the sum by which passages of one search are ordered.
func (e *Evidence) order() float64 {
	x := e.Words + weightRise*e.Rise + weightProximity*e.Proximity +
		weightTitle*e.Title + weightHeading*e.Heading + weightFresh*e.Fresh
	x += weightMeaning*e.Meaning + weightExact*e.Exact()
	if e.Start {
		x += weightStart * e.Title
	}
	return x
}

// freshFor is the age in seconds at which freshness has halved: a year.
const freshFor = 365 * 24 * 3600

// weighEvidence gathers the evidence for all candidates and sums it up to keys
// to order them by.
func (s *search) weighEvidence(all []found) {
	learned := slices.Grow(s.memory.learned[:0], len(all))[:len(all)]
	s.memory.learned = learned
	counts := make([]Counts, len(s.words))
	var best, bestLearned float64
	for i := range all {
		f := &all[i]
		countsOf(f.Hits, counts)
		f.key = s.gather(f, counts)
		learned[i] = s.compare(f, s.feedback.gave(f.part, f.Ref))
		best, bestLearned = max(best, f.key), max(bestLearned, learned[i])
	}
	for i := range all {
		e := &all[i].evidence
		if best > 0 {
			e.Relative = all[i].key / best
		}
		if bestLearned > 0 {
			e.Feedback = learned[i] / bestLearned
		}
		mixed := feedbackShare * s.feedback.gate
		e.Words = (1-mixed)*e.Relative + mixed*e.Feedback
		e.Order = e.order()
		all[i].key = e.Order
	}
}

// compare sets what a candidate's vector says, and returns the lexical score by
// the second pass. A candidate that gave terms and vectors for that is compared
// with what the others gave.
func (s *search) compare(f *found, gave *source) float64 {
	learned, similarity := f.Lexical, f.Similarity
	if gave != nil {
		l, sim := s.confirmed(gave)
		learned = l
		if !math.IsNaN(sim) {
			similarity = sim
		}
	}
	if z := s.rise(f.part, similarity); !math.IsNaN(z) {
		f.evidence.Rise = z
		if s.parts[f.part].Meaning {
			f.evidence.Meaning = max(z-meaningFrom, 0)
		}
	}
	if s.feedback.gate == 0 {
		return f.key
	}
	return learned
}

// confidences makes the keys, by which everything is ordered, confidences by the
// evidence that fall along the order.
func (s *search) confidences(all []found, order []keyed) {
	if len(order) == 0 {
		return
	}
	s.query.Words, s.query.Gate, s.query.Top = len(s.words), s.feedback.gate, all[order[0].at].evidence
	certain := slices.Grow(s.memory.certain[:0], len(order))[:len(order)]
	s.memory.certain = certain
	for i, o := range order {
		certain[i] = s.query.certain(&all[o.at].evidence)
	}
	fall(certain)
	for i, o := range order {
		all[o.at].key = confidence(certain[i], i)
	}
}

// gather sets what the words say about a candidate and returns its lexical score.
func (s *search) gather(f *found, counts []Counts) float64 {
	norm := BodyNorm(f.Words[index.FieldBody], s.average)
	e := &f.evidence
	var sum, inTitle, inHeading, titleShare, headingShare float64
	for i, c := range counts {
		if c == (Counts{}) {
			continue
		}
		w := s.words[i].Weight
		sum += w * Damped(c, norm)
		e.Coverage += w
		if c.Title {
			inTitle++
			titleShare += w
		}
		if c.Heading {
			inHeading++
			headingShare += w
		}
	}
	if s.whole > 0 {
		e.Lexical, e.Coverage = sum/s.whole, e.Coverage/s.whole
		e.Title = sameness(inTitle, titleShare/s.whole, f.Words[index.FieldTitle])
		e.Heading = sameness(inHeading, headingShare/s.whole, f.Words[index.FieldHeading])
		e.Proximity = s.proximity(f.Hits)
	}
	e.Start = f.Ordinal == 0
	if s.opt.Now > 0 && f.Time > 0 {
		e.Fresh = math.Exp2(-float64(max(s.opt.Now-f.Time, 0)) / freshFor)
	}
	return sum
}

// sameness is 1 when all words of the question stand in a heading that has no
// others, less as either has more.
func sameness(matched, share float64, words int32) float64 {
	if matched == 0 || words == 0 {
		return 0
	}
	if share > 1-1e-9 { // sums of shares are not exact
		share = 1
	}
	return share * min(matched/float64(words), 1)
}

// Neighbours in the question that are neighbours in the passage, as the
// sequential dependence model counts them (Metzler and Croft, A Markov random
// field model for term dependencies, 2005): in order side by side, and in any
// order within a window.
const (
	window        = 8
	shareInOrder  = 0.5
	shareInWindow = 0.5
)

// proximity looks at each two words that follow one another in the question.
func (s *search) proximity(hits []Hit) float64 {
	n := len(s.words)
	if n < 2 || len(hits) < 2 {
		return 0
	}
	type pair struct{ inOrder, near float64 }
	var fixed [16]pair
	pairs := fixed[:0]
	if n-1 > len(fixed) {
		pairs = make([]pair, 0, n-1)
	}
	pairs = pairs[:n-1]
	for i, h := range hits { // by position
		for _, o := range hits[i+1:] {
			gap := o.Position - h.Position
			if gap >= window {
				break
			}
			if gap == 0 || o.Word != h.Word+1 && o.Word+1 != h.Word {
				continue
			}
			if index.FieldOf(o.Position) != index.FieldOf(h.Position) {
				break
			}
			switch {
			case o.Word == h.Word+1:
				pairs[h.Word].near++
				if gap == 1 {
					pairs[h.Word].inOrder++
				}
			case o.Word+1 == h.Word:
				pairs[o.Word].near++
			}
		}
	}
	sum, whole := 0.0, 0.0
	for i, p := range pairs {
		w := min(s.words[i].Weight, s.words[i+1].Weight)
		whole += w
		sum += w * (shareInOrder*p.inOrder/(K1+p.inOrder) + shareInWindow*p.near/(K1+p.near))
	}
	if whole == 0 {
		return 0
	}
	return sum / whole
}
