package resident

import (
	"math"
)

// coder turns vectors of one length into bits, of which vectors with a small
// angle between them share many: the signs of the components after the mean of
// the collection has been taken away (most models leave all their vectors in
// one corner) and the rest has been turned by a random rotation (so that every
// component matters alike). Charikar, Similarity Estimation Techniques from
// Rounding Algorithms, 2002. The rotation is that of Ailon and Chazelle, The
// Fast Johnson-Lindenstrauss Transform, 2009: random signs, then a Hadamard
// transform.
//
// A coder is not safe for concurrent use of encode with the same buffer, but
// holds none itself.
type coder struct {
	mean   []float32
	sample int // how many vectors the mean is of
	width  int // a power of two, at least the length of vectors
	turns  int // how many rotations there are
	words  int // of a code
	signs  []uint64
}

const (
	// leastBits is how long codes are at least: short vectors are turned more than once.
	leastBits = 256
	// leastSample is the least number of vectors whose mean is worth taking away.
	leastSample = 64
)

// newCoder makes the coder of vectors with a sum. The same vectors have the
// same codes at all times.
func newCoder(sum []float64, n int) *coder {
	c := &coder{sample: n, width: 1, mean: make([]float32, len(sum))}
	for c.width < len(sum) {
		c.width *= 2
	}
	c.turns = max(1, leastBits/c.width)
	c.words = bitmapWords(c.turns * c.width)
	if n >= leastSample {
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

func (c *coder) bytes() int64 { return int64(4*len(c.mean) + 8*len(c.signs)) }

// encode writes the code of a vector at unit length.
func (c *coder) encode(code []uint64, vector []float32) {
	var small [1024]float32
	work := small[:]
	if c.width > len(small) {
		work = make([]float32, c.width)
	}
	work = work[:c.width]
	clear(code)
	for turn := range c.turns {
		at := turn * c.width
		for i, x := range vector {
			x -= c.mean[i]
			// Flip the sign bit where the coder has a one.
			flip := uint32(c.signs[(at+i)>>6]>>((at+i)&63)) << 31 //nolint:gosec // one bit is wanted
			work[i] = math.Float32frombits(math.Float32bits(x) ^ flip)
		}
		clear(work[len(vector):])
		hadamard(work)
		for i, x := range work {
			if x > 0 {
				code[(at+i)>>6] |= 1 << ((at + i) & 63)
			}
		}
	}
}

// hadamard replaces a vector, whose length is a power of two, by its
// Walsh-Hadamard transform, but for a factor.
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
