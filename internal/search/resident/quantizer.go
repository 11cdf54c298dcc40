package resident

import (
	"math"
)

// A quantizer encodes vectors of one length as binary codes. Vectors with a small
// angle between them have codes with a small Hamming distance (Charikar, Similarity
// Estimation Techniques from Rounding Algorithms, 2002). A code is the signs of the
// components after the collection's mean is subtracted, since most models place all
// vectors in one corner, and after a random rotation, which makes all components
// matter alike. The rotation consists of random signs and a Hadamard transform
// (Ailon and Chazelle, The Fast Johnson-Lindenstrauss Transform, 2009).
//
// A quantizer is immutable and safe for concurrent use.
type quantizer struct {
	mean      []float32
	sample    int // number of vectors of which mean is the mean
	width     int // a power of two, at least the length of vectors
	rotations int
	words     int // of a code
	signs     []uint64
}

const (
	// minCodeBits is the least length of codes: short vectors are rotated more than once.
	minCodeBits = 256
	// minMeanSample is the least number of vectors whose mean is subtracted.
	minMeanSample = 64
)

// newQuantizer returns the quantizer for n vectors with a sum. The codes are
// deterministic.
func newQuantizer(sum []float64, n int) *quantizer {
	c := &quantizer{sample: n, width: 1, mean: make([]float32, len(sum))}
	for c.width < len(sum) {
		c.width *= 2
	}
	c.rotations = max(1, minCodeBits/c.width)
	c.words = bitmapWords(c.rotations * c.width)
	if n >= minMeanSample {
		for i, s := range sum {
			c.mean[i] = float32(s / float64(n))
		}
	}
	c.signs = make([]uint64, c.words)
	state := uint64(0x6d61677069650001)
	for i := range c.signs {
		// SplitMix64 (Steele, Lea and Flood, 2014).
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		c.signs[i] = z ^ z>>31
	}
	return c
}

func (c *quantizer) bytes() int64 { return int64(4*len(c.mean) + 8*len(c.signs)) }

// encode writes the code of a vector of unit length.
func (c *quantizer) encode(code []uint64, vector []float32) {
	var small [1024]float32
	work := small[:]
	if c.width > len(small) {
		work = make([]float32, c.width)
	}
	work = work[:c.width]
	clear(code)
	for rotation := range c.rotations {
		first := rotation * c.width
		for i, x := range vector {
			x -= c.mean[i]
			// Flip the sign where signs has a one.
			flip := uint32(c.signs[(first+i)>>6]>>((first+i)&63)) << 31 //nolint:gosec // only the lowest bit matters
			work[i] = math.Float32frombits(math.Float32bits(x) ^ flip)
		}
		clear(work[len(vector):])
		hadamard(work)
		for i, x := range work {
			if x > 0 {
				code[(first+i)>>6] |= 1 << ((first + i) & 63)
			}
		}
	}
}

// hadamard replaces a vector, whose length is a power of two, by its unnormalised
// Walsh-Hadamard transform.
func hadamard(v []float32) {
	for h := 1; h < len(v); h *= 2 {
		for i := 0; i < len(v); i += 2 * h {
			a, b := v[i:i+h], v[i+h:i+2*h]
			b = b[:len(a)]
			for j, x := range a {
				y := b[j]
				a[j], b[j] = x+y, x-y
			}
		}
	}
}
