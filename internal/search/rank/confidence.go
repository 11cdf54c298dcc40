package rank

import "math"

// Confidence. Passages are ordered by evidence relative to the other candidates.
// The confidence in one of them is a logistic function of absolute evidence, so
// that a score means the same in every collection. Where the confidences do not
// fall along the order, isotonic regression makes them do so; the order never
// changes.

// FeatureCount is the number of Features.
const FeatureCount = 8

// Features returns the inputs of the logistic model: evidence of the passage and
// of the search as a whole. The first is the constant 1.
func Features(q *QueryEvidence, e *Evidence) [FeatureCount]float64 {
	f := [FeatureCount]float64{0: 1, 3: e.Proximity, 4: e.Title, 5: e.Heading, 7: e.ZScore - maxBackgroundZScore(q.Passages)}
	if q.Words > 0 {
		// A long question has words that no answer repeats: half of it in one
		// passage is no accident.
		exponent := 1 / math.Sqrt(float64(q.Words))
		f[1] = power(min(e.Lexical/fullMatch, 1), exponent)
		f[2] = power(e.Coverage, exponent)
	}
	f[6] = e.ExactMatch()
	return f
}

// featureNames returns the names of Features in explanations.
func featureNames() [FeatureCount]string {
	return [FeatureCount]string{"constant", "lexical", "coverage", "proximity", "title", "heading", "exact_match", "z_score"}
}

// power returns x to the y for x from 0 to 1 and y above 0. It takes a third of
// the time of math.Pow, which is exact for all numbers.
func power(x, y float64) float64 { return math.Exp(y * math.Log(x)) }

// fullMatch is the lexical score of a passage that has each word twice in a body
// of mean length. A higher score adds no confidence.
const fullMatch = 2 / (K1 + 2)

// maxBackgroundZScore returns the expected highest z-score among so many unrelated
// passages, were similarities normally distributed.
func maxBackgroundZScore(passages int) float64 {
	return math.Sqrt(2 * math.Log(float64(max(passages, 2))))
}

// logOdds returns the log-odds that a passage answers the question.
func (q *QueryEvidence) logOdds(e *Evidence) float64 {
	x := confidenceSemantic * e.Semantic
	weights := confidenceWeights()
	for i, f := range Features(q, e) {
		x += weights[i] * f
	}
	return x
}

// antitonic replaces values by their least-squares fit that does not rise from one
// to the next. It pools adjacent violators (Ayer et al. 1955).
func antitonic(values []float64) {
	type block struct {
		sum float64
		n   int
	}
	var blocks []block
	for _, v := range values {
		b := block{v, 1}
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.sum/float64(last.n) > b.sum/float64(b.n) {
				break
			}
			b = block{b.sum + last.sum, b.n + last.n}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	i := 0
	for _, b := range blocks {
		for range b.n {
			values[i] = b.sum / float64(b.n)
			i++
		}
	}
}

// confidence returns the score of the passage at a place of the order. Places with
// equal log-odds differ by far less than a score means, so that scores fall
// strictly.
func confidence(logOdds float64, place int) float64 {
	return 1 / (1 + math.Exp(float64(place)*1e-6-logOdds))
}
