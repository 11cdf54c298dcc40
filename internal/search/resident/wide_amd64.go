package resident

import (
	"math"

	"golang.org/x/sys/cpu"
)

// mostWide is how many components can be multiplied before a sum of 32 bits
// could overflow: each of the eight takes two products of at most 127*32767 for
// every 16 components.
const mostWide = 4096

// dotWide multiplies n components, a multiple of 16 up to mostWide, with AVX2.
// It takes a tenth of the time of dotPlain, and without it the comparison of
// vectors would be most of a search.
//
//go:noescape
func dotWide(a *int8, b *int16, n int) int64

// dot multiplies vectors of the same length.
func dot(a []int8, b []int16) int {
	if !cpu.X86.HasAVX2 {
		return dotPlain(a, b)
	}
	b = b[:len(a)]
	sum := 0
	for len(a) >= 16 {
		n := min(len(a), mostWide) &^ 15
		sum += int(dotWide(&a[0], &b[0], n))
		a, b = a[n:], b[n:]
	}
	return sum + dotPlain(a, b)
}

// differWide writes in how many bits each of n codes, one after another, differs
// from a code of as many words: a multiple of 4. n is above 0.
//
//go:noescape
func differWide(out *uint16, codes, code *uint64, words, n int)

// differFour is differWide for codes of four words with AVX-512. n is a multiple of 8.
//
//go:noescape
func differFour(out *uint16, codes, code *uint64, n int)

// differEights is differWide for codes of a multiple of eight words with AVX-512.
//
//go:noescape
func differEights(out *uint16, codes, code *uint64, words, n int)

// countsWide tells that bits are counted in eight words at once.
var countsWide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VPOPCNTDQ

// differ writes in how many bits each of the codes, one after another, differs
// from a code whose words are a multiple of 4.
func differ(out []uint16, codes, code []uint64) {
	if countsWide {
		out, codes = differMany(out, codes, code)
	}
	differSome(out, codes, code)
}

// differMany is differ for as many of the codes as AVX-512 can take, and returns
// the rest.
func differMany(out []uint16, codes, code []uint64) (restOut []uint16, restCodes []uint64) {
	n := len(codes) / len(code)
	switch {
	case len(code) == 4:
		n &^= 7
	case len(code)%8 != 0:
		n = 0
	}
	if n == 0 {
		return out, codes
	}
	if len(code) == 4 {
		differFour(&out[:n][0], &codes[0], &code[0], n)
	} else {
		differEights(&out[:n][0], &codes[0], &code[0], len(code), n)
	}
	return out[n:], codes[n*len(code):]
}

// differSome is differ without AVX-512.
func differSome(out []uint16, codes, code []uint64) {
	n := len(codes) / len(code)
	if !cpu.X86.HasPOPCNT || n == 0 || len(code)%4 != 0 {
		differPlain(out, codes, code)
		return
	}
	out = out[:n]
	differWide(&out[0], &codes[0], &code[0], len(code), n)
}

//go:noescape
func prefetchWide(p *int8, n int)

// prefetch says that a vector is about to be read. Those that are compared lie
// far from one another, and waiting for memory is most of what that takes.
func prefetch(a []int8) {
	if len(a) > 0 {
		prefetchWide(&a[0], min(len(a), mostWide))
	}
}

//go:noescape
func prefetchTerms(p *uint16, n int)

// prefetchCoded says that the terms of a passage are about to be read.
func prefetchCoded(b []uint16) {
	if len(b) > 0 {
		prefetchTerms(&b[0], min(len(b), mostWide))
	}
}

//go:noescape
func chooseWide(masks *chosen, codes *uint16, blocks int, digits *[4][16]byte)

// choose writes masks of each 32 codes in b, and of what is beyond the last one.
// It fails where b ends its array or the processor cannot do it.
func choose(masks []chosen, b []uint16, digits *[4][16]byte) ([]chosen, bool) {
	blocks := (len(b) + chosenStep - 1) / chosenStep
	if !cpu.X86.HasAVX2 || blocks == 0 || cap(b) < blocks*chosenStep {
		return masks, false
	}
	if len(masks) < blocks {
		masks = make([]chosen, 2*blocks)
	}
	chooseWide(&masks[0], &b[0], blocks, digits)
	return masks, true
}

//go:noescape
func belowWide(numbers *uint16, limit int) uint64

// below returns which of the numbers, none of which is over 1<<14, are below a limit.
func below(numbers *[64]uint16, limit int) uint64 {
	if !cpu.X86.HasAVX2 {
		return belowPlain(numbers, limit)
	}
	return belowWide(&numbers[0], min(limit, math.MaxInt16))
}

//go:noescape
func reachingWide(scores *float64, floor float64) uint64

// reaching returns which of the scores are a floor or more.
func reaching(scores *[64]float64, floor float64) uint64 {
	if !cpu.X86.HasAVX2 {
		return reachingPlain(scores, floor)
	}
	return reachingWide(&scores[0], floor)
}
