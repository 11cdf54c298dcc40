package rank

import (
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
)

// Evidence is what supports a passage as an answer.
type Evidence struct {
	Lexical       float64 // BM25F divided by the sum of the query term weights: 0 to 1
	Relative      float64 // BM25F divided by the best passage's
	Feedback      float64 // BM25F of the second pass divided by the best passage's
	Interpolation float64 // Relative and Feedback, mixed as far as the gate is open
	ZScore        float64 // similarity in standard deviations above the background's mean, as far as the model knows the question; 0 when unknown
	Known         float64 // share of the question that the model knows: 0 to 1
	Proximity     float64 // share of neighbouring words of the question that are neighbours here: 0 to 1
	Coverage      float64 // share of the words, by their idf in the collection, that occur anywhere in the passage: 0 to 1
	Title         float64 // how closely question and title are the same words: 0 to 1; 0 for a stub
	Heading       float64 // how closely question and own heading are the same words: 0 to 1; 0 for a stub
	FirstPassage  bool    // the passage is the document's first
	Stub          bool    // the passage only leads elsewhere
	Introduction  float64 // how far Key is raised because the page begins here and the question asks for its title
	Semantic      float64 // z-score of a semantic model beyond semanticThreshold; 0 for the builtin model
	Freshness     float64 // 1 for a document changed now, halved each year
	Key           float64 // the sum by which passages are ordered
	KeyGap        float64 // how far Key is below that of the first passage, as far as they can be compared
}

// QueryEvidence is evidence of the search as a whole that there is an answer.
type QueryEvidence struct {
	Passages int // searched
	// Information is the idf of all words together, in units of the information that
	// tells one of the passages from the others.
	Information float64
	// ChanceCoverage is the Coverage that the best of the passages has by chance.
	ChanceCoverage float64
	// Absent is the share of the words, by their idf, that no passage has.
	Absent float64
}

// feedbackShare is the share of the lexical score that comes from the second pass
// where the gate is open. It is not fitted: questions made from documentation have
// one answer each, and feedback helps those that have several.
const feedbackShare = 0.75

// weightStub is the share that stubs lose of their key, so that lists of links and
// pages that have moved sink below real text. It is set by hand: the questions of
// fitting seldom have an answer in both.
const weightStub = -0.6

// weightFreshness separates versions of the same text.
const weightFreshness = 0.01

// A semantic model may support a passage without a word of the question. The most
// similar of many unrelated passages is also some deviations above the mean, so
// only the z-score beyond semanticThreshold counts. These three are set by hand: no
// semantic model was available for fitting.
const (
	semanticThreshold  = 2.5
	weightSemantic     = 0.15
	confidenceSemantic = 1.8
)

// ExactMatch returns 1 where question and title are the same words, 0.7 where
// question and heading are, else 0.
func (e *Evidence) ExactMatch() float64 {
	switch {
	case e.Title == 1:
		return 1
	case e.Heading == 1:
		return 0.7
	default:
		return 0
	}
}

// key returns the sum by which the passages of one search are ordered.
func (e *Evidence) key() float64 {
	x := e.Interpolation + e.similarityTerm() + weightProximity*e.Proximity +
		weightTitle*e.Title + weightHeading*e.Heading + weightFreshness*e.Freshness + weightExactMatch*e.ExactMatch()
	if e.FirstPassage {
		x += weightFirstPassage * e.Title
	}
	if e.Stub {
		x += weightStub * max(x, 0)
	}
	return x + e.Introduction
}

// similarityTerm returns what the similarity adds to the key.
func (e *Evidence) similarityTerm() float64 {
	return weightZScore*e.ZScore + weightSemantic*e.Semantic
}

// freshnessHalfLife is the age in seconds at which freshness has halved: a year.
const freshnessHalfLife = 365 * 24 * 3600

// scoreEvidence gathers the evidence of all candidates and sets the keys that they
// are ordered by.
func (s *search) scoreEvidence(all []scored) {
	feedback := slices.Grow(s.scratch.feedback[:0], len(all))[:len(all)]
	s.scratch.feedback = feedback
	counts := make([]Counts, len(s.words))
	var best, bestFeedback float64
	for i := range all {
		c := &all[i]
		countMatches(c.Matches, counts)
		c.key = s.lexicalEvidence(c, counts)
		feedback[i] = s.feedbackEvidence(c)
		best, bestFeedback = max(best, c.key), max(bestFeedback, feedback[i])
	}
	for i := range all {
		e := &all[i].evidence
		if best > 0 {
			e.Relative = all[i].key / best
		}
		if bestFeedback > 0 {
			e.Feedback = feedback[i] / bestFeedback
		}
		share := feedbackShare * s.feedback.gate
		e.Interpolation = (1-share)*e.Relative + share*e.Feedback
		e.Key = e.key()
		all[i].key = e.Key
	}
	raiseIntroductions(all)
}

// raiseIntroductions gives the first passage of a page the key of the page's best
// passage, and a little more, if question and title are the same words: "what is a
// queue" is answered where the page about queues begins, even if other sections say
// the word more often.
func raiseIntroductions(all []scored) {
	const more = 1e-3
	var best map[uuid.UUID]float64
	for i := range all {
		if all[i].evidence.Title == 1 {
			if best == nil {
				best = make(map[uuid.UUID]float64)
			}
			if key, ok := best[all[i].Document]; !ok || all[i].key > key {
				best[all[i].Document] = all[i].key
			}
		}
	}
	for i := range all {
		c := &all[i]
		if e := &c.evidence; e.FirstPassage && e.Title == 1 && best[c.Document] > c.key {
			e.Introduction = best[c.Document] - c.key + more
			e.Key = e.key()
			c.key = e.Key
		}
	}
}

// feedbackEvidence sets a candidate's vector evidence and returns its lexical
// score by the second pass. A feedback passage is scored by the other feedback
// passages.
func (s *search) feedbackEvidence(c *scored) float64 {
	lexical, similarity := c.Lexical, c.Similarity
	if p := s.feedback.passage(c.part, c.Ref); p != nil {
		l, sim := s.leaveOneOut(p)
		lexical = l
		if !math.IsNaN(sim) {
			similarity = sim
		}
	}
	if z := s.zScore(c.part, similarity); !math.IsNaN(z) {
		c.evidence.Known = s.known[c.part]
		c.evidence.ZScore = z * c.evidence.Known
		if s.parts[c.part].Semantic {
			c.evidence.Semantic = max(z-semanticThreshold, 0)
		}
	}
	if s.feedback.gate == 0 {
		return c.key
	}
	return lexical
}

// setConfidences replaces the keys of the ordered candidates by confidences that
// fall along the order.
func (s *search) setConfidences(all []scored, order []sortKey) {
	if len(order) == 0 {
		return
	}
	first := &all[order[0].index]
	logOdds := slices.Grow(s.scratch.logOdds[:0], len(order))[:len(order)]
	s.scratch.logOdds = logOdds
	for i, o := range order {
		c := &all[o.index]
		c.evidence.KeyGap = s.keyGap(first, c)
		logOdds[i] = s.query.logOdds(&c.evidence)
	}
	antitonic(logOdds)
	for i, o := range order {
		all[o.index].key = confidence(rounded(logOdds[i]), i)
	}
}

// keyGap returns how far the key of a candidate is below that of the first. The
// similarities of different models are not compared.
func (s *search) keyGap(first, c *scored) float64 {
	a, b := &first.evidence, &c.evidence
	gap := a.Key - b.Key
	if s.parts[first.part].Semantic != s.parts[c.part].Semantic || (a.Known > 0) != (b.Known > 0) {
		gap -= a.similarityTerm() - b.similarityTerm()
	}
	return max(gap, 0)
}

// lexicalEvidence sets the evidence of a candidate's words and returns its lexical
// score.
func (s *search) lexicalEvidence(c *scored, counts []Counts) float64 {
	norm := LengthNorm(c.FieldWords[index.FieldBody], s.averageBody)
	e := &c.evidence
	var sum, covered, inTitle, inHeading, titleWeight, headingWeight float64
	for i, n := range counts {
		if n == (Counts{}) {
			continue
		}
		w := s.words[i].Weight
		sum += w * Saturation(n, norm)
		covered += s.chance.words[i].idf
		if n.Title {
			inTitle++
			titleWeight += w
		}
		if n.Heading {
			inHeading++
			headingWeight += w
		}
	}
	if s.totalWeight > 0 {
		e.Lexical, e.Coverage = sum/s.totalWeight, covered/s.chance.total
		if e.Stub = index.IsStub(&c.FieldWords); !e.Stub {
			e.Title = overlap(inTitle, titleWeight/s.totalWeight, c.FieldWords[index.FieldTitle])
			e.Heading = overlap(inHeading, headingWeight/s.totalWeight, c.FieldWords[index.FieldHeading])
		}
		e.Proximity = s.proximity(c.Matches)
	}
	e.FirstPassage = c.Ordinal == 0
	if s.opt.Now > 0 && c.Time > 0 {
		e.Freshness = math.Exp2(-float64(max(s.opt.Now-c.Time, 0)) / freshnessHalfLife)
	}
	return sum
}

// overlap returns how closely the question and a field are the same words. It is 1
// when the field has all words of the question and no others. matched is the
// number of the question's words in the field, share their share of the query term
// weights, and words the field's length.
func overlap(matched, share float64, words int32) float64 {
	if matched == 0 || words == 0 {
		return 0
	}
	if share > 1-1e-9 { // sums of shares are not exact
		share = 1
	}
	return share * min(matched/float64(words), 1)
}

// The sequential dependence model (Metzler and Croft, A Markov random field model
// for term dependencies, 2005) counts neighbours in the question that are
// neighbours in the passage: side by side in order, and in any order within a
// window.
const (
	window        = 8
	shareInOrder  = 0.5
	shareInWindow = 0.5
)

// proximity returns the proximity of every two consecutive words of the question.
func (s *search) proximity(matches []Match) float64 {
	n := len(s.words)
	if n < 2 || len(matches) < 2 {
		return 0
	}
	type pair struct{ inOrder, near float64 }
	var fixed [16]pair
	pairs := fixed[:0]
	if n-1 > len(fixed) {
		pairs = make([]pair, 0, n-1)
	}
	pairs = pairs[:n-1]
	for i, h := range matches { // by position
		for _, o := range matches[i+1:] {
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
	sum, total := 0.0, 0.0
	for i, p := range pairs {
		w := min(s.words[i].Weight, s.words[i+1].Weight)
		total += w
		sum += w * (shareInOrder*p.inOrder/(K1+p.inOrder) + shareInWindow*p.near/(K1+p.near))
	}
	if total == 0 {
		return 0
	}
	return sum / total
}
