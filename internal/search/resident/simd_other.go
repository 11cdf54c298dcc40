//go:build !amd64

package resident

// dot returns the dot product of vectors of the same length.
func dot(a []int8, b []int16) int { return dotGeneric(a, b) }

// hamming writes the Hamming distances of consecutive codes from a code.
func hamming(out []uint16, codes, code []uint64) { hammingGeneric(out, codes, code) }

// prefetch does nothing on this processor.
func prefetch([]int8) {}

// prefetchCodes does nothing on this processor.
func prefetchCodes([]uint16) {}

// classify is not available on this processor.
func classify(masks []codeMasks, _ []uint16, _ *[4][16]byte) (_ []codeMasks, ok bool) {
	return masks, false
}

// below returns a bit for each number that is below a limit.
func below(numbers *[64]uint16, limit int) uint64 { return belowGeneric(numbers, limit) }

// reaching returns a bit for each score that is at least floor.
func reaching(scores *[64]float64, floor float64) uint64 { return reachingGeneric(scores, floor) }
