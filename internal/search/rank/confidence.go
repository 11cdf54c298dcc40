package rank

import "math"

// The map from evidence to confidence. The order of passages is that of their
// evidence; how sure to be of the first is fitted on absolute evidence, so that
// one number means the same in every collection, and the others follow by how
// far they are behind.
const (
	certainNone      = -4.0
	certainLexical   = 4.0
	certainCoverage  = 2.0
	certainProximity = 0.5
	certainTitle     = 2.0
	certainHeading   = 1.0
	certainRise      = 0.3
	certainSize      = 0.0 // for each doubling of the number of passages beyond a thousand

	steepness = 4.0 // log-odds for each unit of order behind the first
)

// certain is the log-odds that the first passage answers the question.
func (q *QueryEvidence) certain() float64 {
	t := &q.Top
	x := certainNone + certainCoverage*t.Coverage + certainProximity*t.Proximity + certainTitle*t.Title +
		certainHeading*t.Heading + certainRise*t.Rise + certainSize*math.Log2(1+float64(q.Passages)/1000)
	if t.Lexical > 0 && q.Words > 0 {
		// A long question has words that no answer repeats: half of it in one
		// passage is no accident.
		x += certainLexical * math.Pow(t.Lexical, 1/math.Sqrt(float64(q.Words)))
	}
	return x
}

// confidence is the score of a passage that is behind the first one by some order.
func confidence(certain, behind float64) float64 {
	return 1 / (1 + math.Exp(steepness*behind-certain))
}
