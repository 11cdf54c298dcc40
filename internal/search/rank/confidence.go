package rank

import "math"

// Confidence. Passages are ordered by evidence relative to the other candidates.
// The confidence in one of them is a logistic function of absolute evidence, so
// that a score means the same in every collection. Where the confidences do not
// fall along the order, isotonic regression makes them do so; the order never
// changes.

// FeatureCount is the number of Features.
const FeatureCount = 11

// Features returns the inputs of the logistic model: evidence of the passage and
// of the search as a whole. The first is the constant 1.
func Features(q *QueryEvidence, e *Evidence) [FeatureCount]float64 {
	chance := min(q.ChanceCoverage, maxChance)
	return [FeatureCount]float64{
		1,
		max((e.Coverage-chance)/(1-chance), minAboveChance),
		(e.Coverage - chance) * q.Information,
		min(q.Information, maxInformation),
		q.Absent,
		e.Proximity,
		e.Title,
		e.Heading,
		e.Known,
		e.ZScore - e.Known*maxBackgroundZScore(q.Passages),
		e.KeyGap,
	}
}

// featureNames returns the names of Features in explanations.
func featureNames() [FeatureCount]string {
	return [FeatureCount]string{
		"constant", "coverage_above_chance", "information_above_chance", "information", "absent", "proximity", "title", "heading",
		"known", "z_score_above_chance", "key_gap",
	}
}

// Bounds of Features.
const (
	maxChance      = 0.98 // a passage with all words has them by more than chance
	minAboveChance = -0.5
	maxInformation = 4
)

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

// rounded returns log-odds without the digits that depend on the order in which
// passages were read.
func rounded(logOdds float64) float64 { return math.Round(logOdds*1e9) / 1e9 }

// confidence returns the score of the passage at a place of the order. Places with
// equal log-odds differ by far less than a score means, so that scores fall
// strictly.
func confidence(logOdds float64, place int) float64 {
	return 1 / (1 + math.Exp(float64(place)*1e-6-logOdds))
}
