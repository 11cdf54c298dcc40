package resident

import "math/bits"

// dotGeneric is dot in portable Go.
func dotGeneric(a []int8, b []int16) int {
	b = b[:len(a)]
	var s0, s1, s2, s3 int
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x, y := a[i:i+8:i+8], b[i:i+8:i+8]
		s0 += int(x[0])*int(y[0]) + int(x[4])*int(y[4])
		s1 += int(x[1])*int(y[1]) + int(x[5])*int(y[5])
		s2 += int(x[2])*int(y[2]) + int(x[6])*int(y[6])
		s3 += int(x[3])*int(y[3]) + int(x[7])*int(y[7])
	}
	for ; i < len(a); i++ {
		s0 += int(a[i]) * int(b[i])
	}
	return s0 + s1 + s2 + s3
}

// hammingGeneric is hamming in portable Go.
func hammingGeneric(out []uint16, codes, code []uint64) {
	for i := range len(codes) / len(code) {
		n := 0
		for j, x := range codes[i*len(code) : (i+1)*len(code)] {
			n += bits.OnesCount64(x ^ code[j])
		}
		out[i] = uint16(n) //nolint:gosec // codes have at most 1<<14 bits
	}
}

// belowGeneric is below in portable Go.
func belowGeneric(numbers *[64]uint16, limit int) uint64 {
	bits := uint64(0)
	for i, n := range numbers {
		if int(n) < limit {
			bits |= 1 << i
		}
	}
	return bits
}

// reachingGeneric is reaching in portable Go.
func reachingGeneric(scores *[64]float64, floor float64) uint64 {
	bits := uint64(0)
	for i, s := range scores {
		if s >= floor {
			bits |= 1 << i
		}
	}
	return bits
}
