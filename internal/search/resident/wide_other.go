//go:build !amd64

package resident

// dot multiplies vectors of the same length.
func dot(a []int8, b []int16) int { return dotPlain(a, b) }

// differ writes in how many bits each of the codes, one after another, differs
// from a code.
func differ(out []uint16, codes, code []uint64) { differPlain(out, codes, code) }

// prefetch says that a vector is about to be read: here to nobody.
func prefetch([]int8) {}

// prefetchCoded says that the terms of a passage are about to be read: here to nobody.
func prefetchCoded([]uint16) {}

// choose is for processors that look at many codes at once.
func choose(masks []chosen, _ []uint16, _ *[4][16]byte) ([]chosen, bool) { return masks, false }

// below returns which of the numbers are below a limit.
func below(numbers *[64]uint16, limit int) uint64 { return belowPlain(numbers, limit) }

// reaching returns which of the scores are a floor or more.
func reaching(scores *[64]float64, floor float64) uint64 { return reachingPlain(scores, floor) }
