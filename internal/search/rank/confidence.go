package rank

import "math"

// The map from evidence to confidence. The order of passages is that of their
// evidence among each other; how sure to be of one is a logistic function of
// absolute evidence, so that a number means the same in every collection. Where
// the two disagree the order stands.

// SignalCount is how many signals there are.
const SignalCount = 8

// Signals are what is known about whether a passage answers, from the search as
// a whole and the passage's evidence.
func Signals(q *QueryEvidence, t *Evidence) [SignalCount]float64 {
	s := [SignalCount]float64{0: 1, 3: t.Proximity, 4: t.Title, 5: t.Heading, 7: t.Rise - chanceRise(q.Passages)}
	if q.Words > 0 {
		// A long question has words that no answer repeats: half of it in one
		// passage is no accident.
		bent := 1 / math.Sqrt(float64(q.Words))
		s[1] = power(min(t.Lexical/fullMatch, 1), bent)
		s[2] = power(t.Coverage, bent)
	}
	s[6] = t.Exact()
	return s
}

// power is x to the y for x from 0 to 1 and y above 0. math.Pow, which is exact for
// all numbers, takes thrice as long.
func power(x, y float64) float64 { return math.Exp(y * math.Log(x)) }

// fullMatch is the lexical score from which on a passage has all that was asked
// for: each word twice in a body of mean length.
const fullMatch = 2 / (K1 + 2)

// chanceRise is the highest rise that chance alone gives among so many
// passages, were similarities normally distributed.
func chanceRise(passages int) float64 {
	return math.Sqrt(2 * math.Log(float64(max(passages, 2))))
}

// certain is the log-odds that a passage answers the question.
func (q *QueryEvidence) certain(e *Evidence) float64 {
	x := certainMeaning * e.Meaning
	weights := certainWeights()
	for i, s := range Signals(q, e) {
		x += weights[i] * s
	}
	return x
}

// fall makes values fall along the order of passages, changing them as little
// as possible in the sense of least squares (pool adjacent violators, Ayer et
// al. 1955): the order is the ranking's, and scores must not contradict it.
func fall(values []float64) {
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
	at := 0
	for _, b := range blocks {
		for range b.n {
			values[at] = b.sum / float64(b.n)
			at++
		}
	}
}

// confidence is the score of the passage in some place: places of equal
// certainty are kept apart by far less than a score means.
func confidence(certain float64, place int) float64 {
	return 1 / (1 + math.Exp(float64(place)*1e-6-certain))
}
