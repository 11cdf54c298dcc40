// Package gauge reads the level of the water.
package gauge

import "errors"

// ErrDry says that there is no water under the gauge.
var ErrDry = errors.New("dry")

// Gauge is one gauge at the pier.
type Gauge struct {
	ID     string
	offset float64
}

// Level returns the level in metres above datum.
func (g *Gauge) Level(raw float64) (float64, error) {
	if raw <= 0 {
		return 0, ErrDry
	}
	return raw + g.offset, nil
}
