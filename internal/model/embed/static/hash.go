package static

import (
	"math/bits"
	"unicode/utf8"
)

// Seeds of the uses of the hash.
const (
	seedWord = 0x8A5CD789635D2DFF
	seedGram = 0xB5026F5AA96619E9
	seedSign = 0x9E6C63D0876A9A47
)

// The n-grams of a word have minGram to maxGram runes and include its boundaries.
const (
	minGram     = 3
	maxGram     = 5
	maxGramWord = 24 // the rest of a longer word has no n-grams
)

// HashWord returns the hash of a word in a table.
func HashWord(word string) uint64 { return hashString(seedWord, word) }

// AppendGrams appends the rows, from 0 to rows-1, of the n-grams of an unknown word.
func AppendGrams(grams []uint32, word string, rows int) []uint32 {
	var runes [maxGramWord + 2]rune
	runes[0] = '<'
	length := 1
	for i := 0; i < len(word) && length <= maxGramWord; {
		r, size := utf8.DecodeRuneInString(word[i:])
		runes[length] = r
		length++
		i += size
	}
	runes[length] = '>'
	length++
	for start := 0; start+minGram <= length; start++ {
		hash := uint64(seedGram)
		for n, r := range runes[start:min(start+maxGram, length)] {
			hash = combine(hash, uint64(r)) //nolint:gosec // a decoded rune is never negative
			if n+1 >= minGram {
				high, _ := bits.Mul64(finish(hash), uint64(rows)) //nolint:gosec // a number of rows is never negative
				grams = append(grams, uint32(high))               //nolint:gosec // below rows
			}
		}
	}
	return grams
}

func hashString(seed uint64, s string) uint64 {
	hash := seed
	for len(s) >= 8 {
		hash = combine(hash, uint64(s[0])|uint64(s[1])<<8|uint64(s[2])<<16|uint64(s[3])<<24|
			uint64(s[4])<<32|uint64(s[5])<<40|uint64(s[6])<<48|uint64(s[7])<<56)
		s = s[8:]
	}
	tail := uint64(len(s)) << 56
	for i := range len(s) {
		tail |= uint64(s[i]) << (8 * i)
	}
	return finish(combine(hash, tail))
}

// combine mixes a value into a hash by a 128-bit multiplication, as wyhash does.
func combine(hash, value uint64) uint64 {
	high, low := bits.Mul64(hash^0x9E3779B97F4A7C15, value^0xD6E8FEB86659FD93)
	return high ^ low
}

func finish(hash uint64) uint64 {
	hash ^= hash >> 29
	hash *= 0xBF58476D1CE4E5B9
	return hash ^ hash>>32
}

// nextSigns returns 64 pseudo-random bits from the hash of a word. Its result is the argument of the next call.
func nextSigns(hash uint64) uint64 { return finish(hash + seedSign) }

// Signs returns a pseudo-random 1 or -1 for each dimension, which distinguishes unknown words.
func Signs(word string) []float32 {
	signs := make([]float32, Dimensions)
	hash := HashWord(word)
	for block := 0; block < Dimensions; block += 64 {
		hash = nextSigns(hash)
		for i := range 64 {
			signs[block+i] = 1 - 2*float32(hash>>i&1)
		}
	}
	return signs
}
