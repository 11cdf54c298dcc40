package resident

import (
	"math"

	"golang.org/x/sys/cpu"
)

// maxDotLength is the number of components that can be multiplied before a sum of 32
// bits might overflow: each of the eight sums adds two products of at most 127*32767
// for every 16 components.
const maxDotLength = 4096

// dotAVX2 returns the dot product of n components, a multiple of 16 up to
// maxDotLength. It takes a tenth of the time of dotGeneric; without it a search would
// spend most of its time comparing vectors.
//
//go:noescape
func dotAVX2(a *int8, b *int16, n int) int64

// dot returns the dot product of vectors of the same length.
func dot(a []int8, b []int16) int {
	if !cpu.X86.HasAVX2 {
		return dotGeneric(a, b)
	}
	b = b[:len(a)]
	sum := 0
	for len(a) >= 16 {
		n := min(len(a), maxDotLength) &^ 15
		sum += int(dotAVX2(&a[0], &b[0], n))
		a, b = a[n:], b[n:]
	}
	return sum + dotGeneric(a, b)
}

// hammingPOPCNT writes the Hamming distances of n codes from a code. n is above 0, and
// words, the length of a code, is a multiple of 4.
//
//go:noescape
func hammingPOPCNT(out *uint16, codes, code *uint64, words, n int)

// hamming4AVX512 is hammingPOPCNT for codes of four words. n is a multiple of 8.
//
//go:noescape
func hamming4AVX512(out *uint16, codes, code *uint64, n int)

// hamming8AVX512 is hammingPOPCNT for codes of a multiple of eight words.
//
//go:noescape
func hamming8AVX512(out *uint16, codes, code *uint64, words, n int)

// hasVPOPCNT says that the processor counts the bits of eight words at once.
var hasVPOPCNT = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VPOPCNTDQ

// hamming writes the Hamming distances of consecutive codes from a code.
func hamming(out []uint16, codes, code []uint64) {
	if hasVPOPCNT {
		out, codes = hammingAVX512(out, codes, code)
	}
	hammingNoAVX512(out, codes, code)
}

// hammingAVX512 is hamming for as many of the codes as AVX-512 can process. It returns
// the others.
func hammingAVX512(out []uint16, codes, code []uint64) (otherOut []uint16, otherCodes []uint64) {
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
		hamming4AVX512(&out[:n][0], &codes[0], &code[0], n)
	} else {
		hamming8AVX512(&out[:n][0], &codes[0], &code[0], len(code), n)
	}
	return out[n:], codes[n*len(code):]
}

// hammingNoAVX512 is hamming without AVX-512.
func hammingNoAVX512(out []uint16, codes, code []uint64) {
	n := len(codes) / len(code)
	if !cpu.X86.HasPOPCNT || n == 0 || len(code)%4 != 0 {
		hammingGeneric(out, codes, code)
		return
	}
	out = out[:n]
	hammingPOPCNT(&out[0], &codes[0], &code[0], len(code), n)
}

//go:noescape
func prefetchInt8(p *int8, n int)

// prefetch loads a vector that is about to be read into the cache. Compared vectors
// lie far apart, and comparing them is mostly waiting for memory.
func prefetch(a []int8) {
	if len(a) > 0 {
		prefetchInt8(&a[0], min(len(a), maxDotLength))
	}
}

//go:noescape
func prefetchUint16(p *uint16, n int)

// prefetchCodes loads the terms of a passage that are about to be read into the cache.
func prefetchCodes(b []uint16) {
	if len(b) > 0 {
		prefetchUint16(&b[0], min(len(b), maxDotLength))
	}
}

//go:noescape
func classifyAVX2(masks *codeMasks, codes *uint16, blocks int, digits *[4][16]byte)

// classify returns the masks of every 32 codes in b; the last ones may be of codes
// beyond the end of b. ok is false if b has no capacity for whole blocks or the
// processor lacks AVX2.
func classify(masks []codeMasks, b []uint16, digits *[4][16]byte) (_ []codeMasks, ok bool) {
	blocks := (len(b) + maskCodes - 1) / maskCodes
	if !cpu.X86.HasAVX2 || blocks == 0 || cap(b) < blocks*maskCodes {
		return masks, false
	}
	if len(masks) < blocks {
		masks = make([]codeMasks, 2*blocks)
	}
	classifyAVX2(&masks[0], &b[0], blocks, digits)
	return masks, true
}

//go:noescape
func belowAVX2(numbers *uint16, limit int) uint64

// below returns a bit for each number that is below a limit. No number is above 1<<14.
func below(numbers *[64]uint16, limit int) uint64 {
	if !cpu.X86.HasAVX2 {
		return belowGeneric(numbers, limit)
	}
	return belowAVX2(&numbers[0], min(limit, math.MaxInt16))
}

//go:noescape
func reachingAVX2(scores *float64, floor float64) uint64

// reaching returns a bit for each score that is at least floor.
func reaching(scores *[64]float64, floor float64) uint64 {
	if !cpu.X86.HasAVX2 {
		return reachingGeneric(scores, floor)
	}
	return reachingAVX2(&scores[0], floor)
}
