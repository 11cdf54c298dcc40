package bench

import (
	"slices"
	"time"
)

// A Reading is the memory of a server at one moment of a soak. Unknown values are
// zero.
type Reading struct {
	After time.Duration `json:"afterNanoseconds"`
	// Heap is the live heap after the last collection, RSS the memory of the
	// process and Resident the size of the search index in memory.
	Heap     float64 `json:"heapBytes"`
	RSS      float64 `json:"rssBytes"`
	Resident float64 `json:"residentBytes"`
}

// Growth compares the medians of the middle and the last third of a soak, in
// bytes. The first third is the warm-up.
type Growth struct {
	What   string  `json:"what"`
	Middle float64 `json:"middleBytes"`
	Last   float64 `json:"lastBytes"`
	// Flat reports whether Last exceeds Middle by no more than is allowed.
	Flat bool `json:"flat"`
}

// growthSlack is growth in bytes that is always allowed: the noise of a small
// process.
const growthSlack = 8 << 20

// JudgeGrowth judges at least three readings. A memory is flat when the median of
// the last third exceeds that of the middle third by at most the allowed share and
// 8 MiB. Memory without a reading is left out.
func JudgeGrowth(readings []Reading, allowed float64) []Growth {
	third := len(readings) / 3
	if third == 0 {
		return nil
	}
	middle, last := readings[third:2*third], readings[len(readings)-third:]
	var out []Growth
	for _, kind := range []struct {
		what string
		of   func(Reading) float64
	}{
		{"heap after collection", func(r Reading) float64 { return r.Heap }},
		{"process (RSS)", func(r Reading) float64 { return r.RSS }},
		{"resident index", func(r Reading) float64 { return r.Resident }},
	} {
		g := Growth{What: kind.what, Middle: median(middle, kind.of), Last: median(last, kind.of)}
		if g.Middle == 0 && g.Last == 0 {
			continue
		}
		g.Flat = g.Last <= g.Middle*(1+allowed)+growthSlack
		out = append(out, g)
	}
	return out
}

func median(readings []Reading, of func(Reading) float64) float64 {
	values := make([]float64, len(readings))
	for i, r := range readings {
		values[i] = of(r)
	}
	slices.Sort(values)
	return Quantile(values, .5)
}
