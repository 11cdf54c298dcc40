package rank

import "math"

// The map from evidence to confidence. The order of passages is that of their
// evidence; how sure to be of the first is a logistic function of absolute
// evidence, so that one number means the same in every collection, and the
// others follow by how far they are behind.

// SignalCount is how many signals there are.
const SignalCount = 8

// Signals are what is known about whether the first passage of a search
// answers, from the search as a whole and that passage's evidence.
func Signals(q *QueryEvidence, t *Evidence) []float64 {
	s := [SignalCount]float64{0: 1, 2: t.Coverage, 3: t.Proximity, 4: t.Title, 5: t.Heading, 7: t.Rise - chanceRise(q.Passages)}
	if t.Lexical > 0 && q.Words > 0 {
		// A long question has words that no answer repeats: half of it in one
		// passage is no accident.
		s[1] = math.Pow(t.Lexical, 1/math.Sqrt(float64(q.Words)))
	}
	if t.exact() {
		s[6] = 1
	}
	return s[:]
}

// chanceRise is the highest rise that chance alone gives among so many
// passages, were similarities normally distributed.
func chanceRise(passages int) float64 {
	return math.Sqrt(2 * math.Log(float64(max(passages, 2))))
}

// certain is the log-odds that the first passage answers the question.
func (q *QueryEvidence) certain() float64 {
	x := 0.0
	weights := certainWeights()
	for i, s := range Signals(q, &q.Top) {
		x += weights[i] * s
	}
	return x
}

// steepness is the log-odds for each unit of order behind the first passage.
const steepness = 4.0

// confidence is the score of a passage that is behind the first one by some order.
func confidence(certain, behind float64) float64 {
	return 1 / (1 + math.Exp(steepness*behind-certain))
}
