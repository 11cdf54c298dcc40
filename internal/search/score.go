package search

import "math"

// score fuses what is known about a candidate into a confidence from 0 to 1.
func score(l lexical, rise float64, ordinal int32) float64 {
	if math.IsNaN(rise) {
		return l.bm25
	}
	x := -4 + 4*l.bm25 + 2*l.coverage + 2*l.title + 2*l.heading + 0.5*rise
	return 1 / (1 + math.Exp(-x))
}
