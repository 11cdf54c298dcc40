package rank

import (
	"context"
	"math"
	"slices"

	"github.com/magpie-search/magpie/internal/index"
)

// An Explanation says how the order sum and the score of a result came about.
type Explanation struct {
	// Words are the words of the question that the passage has, in the question's order.
	Words []WordExplanation
	// BM25F is the sum of the words' scores.
	BM25F float64
	// Similarity is nil if the passage or the question has no vector.
	Similarity *SimilarityExplanation
	// Gate is how far the gate of the second pass was open, from 0 to 1.
	Gate float64
	// AddedTerms are the terms that the second pass added to the question for this
	// passage, by falling weight; none where the gate is closed.
	AddedTerms []TermExplanation
	// Order are the terms of the order sum. Their contributions add up to Evidence.Key.
	Order []Contribution
	// Features are the terms of the log-odds of the confidence.
	Features []Contribution
	// LogOdds is the sum of the contributions of Features.
	LogOdds float64
	// Score is the confidence: the logistic function of the isotonic fit of the log-odds
	// to the order.
	Score float64
}

// A WordExplanation is a word of the question in a passage.
type WordExplanation struct {
	Text              string   // as first written in the question, normalized
	Terms             []string // that the word may be indexed as
	Fields            []FieldOccurrences
	DocumentFrequency int     // of all its terms
	Frequency         float64 // query term frequency: number of occurrences in the question
	IDF               float64
	Weight            float64 // query term weight: IDF times Frequency
	Score             float64 // its part of BM25F
}

// FieldOccurrences is the number of occurrences of a word in a field of a passage.
type FieldOccurrences struct {
	Field  index.Field
	Count  int     // of positions
	Weight float64 // of an occurrence: the field's, or 1 divided by the length norm of the body
}

// A SimilarityExplanation is the vector evidence of a passage.
type SimilarityExplanation struct {
	Cosine     float64    // with the question's vector after Rocchio
	Background Background // that the z-score refers to
	ZScore     float64    // in standard deviations above the background's mean
	Known      float64    // share of the question that the model knows
}

// A TermExplanation is a term that the second pass added to the question.
type TermExplanation struct {
	Term    string
	IDF     float64
	Weight  float64 // in the expanded question
	Matches bool    // the passage has it
	Score   float64 // its part of the BM25F score of the second pass
}

// A Contribution is a term of a sum: value times weight.
type Contribution struct {
	Name          string
	Value, Weight float64
}

// Product returns the value times the weight.
func (c *Contribution) Product() float64 { return c.Value * c.Weight }

// orderTerms returns the terms of Evidence.key.
func (e *Evidence) orderTerms() []Contribution {
	terms := []Contribution{
		{"interpolation", e.Interpolation, 1},
		{"z_score", e.ZScore, weightZScore},
		{"proximity", e.Proximity, weightProximity},
		{"title", e.Title, weightTitle},
		{"heading", e.Heading, weightHeading},
		{"exact_match", e.ExactMatch(), weightExactMatch},
		{"freshness", e.Freshness, weightFreshness},
		{"semantic", e.Semantic, weightSemantic},
	}
	first := Contribution{Name: "first_passage", Weight: weightFirstPassage}
	if e.FirstPassage {
		first.Value = e.Title
	}
	terms = append(terms, first)
	if e.Stub {
		stub := Contribution{Name: "stub", Weight: weightStub} // the value is the sum of the others
		for i := range terms {
			stub.Value += terms[i].Product()
		}
		stub.Value = max(stub.Value, 0)
		terms = append(terms, stub)
	}
	return append(terms, Contribution{"introduction", e.Introduction, 1})
}

// features returns the terms of logOdds.
func (q *QueryEvidence) features(e *Evidence) []Contribution {
	values, weights, names := Features(q, e), confidenceWeights(), featureNames()
	var terms []Contribution
	for i := range values {
		terms = append(terms, Contribution{names[i], values[i], weights[i]})
	}
	return append(terms, Contribution{"semantic", e.Semantic, confidenceSemantic})
}

// explain sets the explanations of the results. It asks the sources for the matches
// again, because the search does not keep them.
func (s *search) explain(ctx context.Context, results []Result) error {
	words, err := s.explainWords(ctx)
	if err != nil {
		return err
	}
	for part := range s.parts {
		var indexes []int
		var passages []Candidate
		for i := range results {
			if results[i].Part == part {
				indexes, passages = append(indexes, i), append(passages, results[i].Candidate)
			}
		}
		if len(passages) == 0 {
			continue
		}
		source := s.parts[part].Source
		matched, err := source.Candidates(ctx, &Request{
			Words: s.words, MatchWords: len(s.words), AverageBody: s.averageBody, Rescore: passages,
		})
		if err != nil {
			return err
		}
		var terms [][]TermCount
		if s.feedback.gate > 0 {
			if terms, err = source.Terms(ctx, passages); err != nil {
				return err
			}
		}
		for n, i := range indexes {
			r := &results[i]
			x := &Explanation{Gate: s.feedback.gate, Order: r.Evidence.orderTerms(), Features: s.query.features(&r.Evidence), Score: r.Score}
			for _, f := range x.Features {
				x.LogOdds += f.Product()
			}
			if m := slices.IndexFunc(matched, func(c Candidate) bool { return c.Ref == r.Ref }); m >= 0 {
				s.explainMatches(x, words, &matched[m])
			}
			s.explainSimilarity(x, r)
			if len(terms) > n {
				s.explainFeedback(x, r, terms[n])
			}
			r.Explanation = x
		}
	}
	return nil
}

// explainWords returns the words of the question, without occurrences.
func (s *search) explainWords(ctx context.Context) ([]WordExplanation, error) {
	var terms []string
	for _, w := range s.words {
		terms = append(terms, w.Terms...)
	}
	frequencies, err := s.documentFrequencies(ctx, terms)
	if err != nil {
		return nil, err
	}
	words := make([]WordExplanation, len(s.words))
	for i, w := range s.words {
		x := WordExplanation{Text: s.surfaces[i], Terms: w.Terms, Weight: w.Weight}
		for range w.Terms {
			x.DocumentFrequency += frequencies[0]
			frequencies = frequencies[1:]
		}
		x.IDF = idf(s.query.Passages, x.DocumentFrequency)
		x.Frequency = w.Weight / x.IDF
		words[i] = x
	}
	return words, nil
}

// explainMatches sets the words that occur in a candidate, and their scores.
func (s *search) explainMatches(x *Explanation, words []WordExplanation, c *Candidate) {
	counts := make([]Counts, len(words))
	countMatches(c.Matches, counts)
	norm := LengthNorm(c.FieldWords[index.FieldBody], s.averageBody)
	for i, w := range words {
		if counts[i] == (Counts{}) {
			continue
		}
		var positions [index.FieldCount]int
		last := -1
		for _, m := range c.Matches { // by position; terms of one word may share one
			if int(m.Word) == i && int(m.Position) != last {
				last = int(m.Position)
				positions[index.FieldOf(m.Position)]++
			}
		}
		for field, n := range positions {
			if n > 0 {
				w.Fields = append(w.Fields, FieldOccurrences{index.Field(field), n, fieldWeight(index.Field(field), norm)})
			}
		}
		w.Score = w.Weight * Saturation(counts[i], norm)
		x.BM25F += w.Score
		x.Words = append(x.Words, w)
	}
}

// fieldWeight returns the weight of an occurrence in a field.
func fieldWeight(field index.Field, lengthNorm float64) float64 {
	switch field {
	case index.FieldTitle:
		return WeightTitle
	case index.FieldHeading:
		return WeightHeading
	case index.FieldPath:
		return WeightPath
	default:
		return 1 / lengthNorm
	}
}

// explainSimilarity sets the vector evidence of a result.
func (s *search) explainSimilarity(x *Explanation, r *Result) {
	similarity := r.Similarity
	if p := s.feedback.passage(r.Part, r.Ref); p != nil {
		if _, other := s.leaveOneOut(p); !math.IsNaN(other) {
			similarity = other
		}
	}
	if z := s.zScore(r.Part, similarity); !math.IsNaN(z) {
		x.Similarity = &SimilarityExplanation{
			Cosine: similarity, Background: s.backgrounds[r.Part], ZScore: z, Known: s.known[r.Part],
		}
	}
}

// explainFeedback sets the terms that the second pass added for a result. terms are
// those of the passage.
func (s *search) explainFeedback(x *Explanation, r *Result, terms []TermCount) {
	words := s.feedback.words
	if p := s.feedback.passage(r.Part, r.Ref); p != nil {
		words = s.expand(s.feedback.index(p))
	}
	norm := LengthNorm(r.FieldWords[index.FieldBody], s.averageBody)
	for _, w := range words[len(s.words):] {
		t := TermExplanation{Term: w.Terms[0], Weight: w.Weight}
		for i := range s.feedback.terms {
			if s.feedback.terms[i].term[0] == t.Term {
				t.IDF = s.feedback.terms[i].idf
			}
		}
		if i, ok := slices.BinarySearchFunc(terms, TermCount{Term: t.Term}, compareTerms); ok {
			t.Matches, t.Score = true, w.Weight*Saturation(terms[i].Counts, norm)
		}
		x.AddedTerms = append(x.AddedTerms, t)
	}
	slices.SortStableFunc(x.AddedTerms, func(a, b TermExplanation) int { return descending(a.Weight, b.Weight) })
}
