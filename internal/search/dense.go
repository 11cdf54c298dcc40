package search

import "math"

type chances struct{}

func (chances) rise(p *pool, plan *plan, c *candidate) float64 {
	s := p.spreads[c.group]
	if math.IsNaN(c.similarity) {
		return math.NaN()
	}
	return (c.similarity - s.mean) / max(s.deviation, 0.01)
}
