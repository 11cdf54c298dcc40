package resident_test

import (
	"slices"
	"testing"

	"github.com/magpie-search/magpie/internal/search/resident"
)

// Processors with AVX-512 use this code for a few codes only.
func TestHammingWithoutAVX512EqualsGeneric(t *testing.T) {
	t.Parallel()
	w := newWorld(6, 1, 1)
	for _, words := range []int{4, 8, 12} {
		code, codes := make([]uint64, words), make([]uint64, 30*words)
		for i := range code {
			code[i] = w.Uint64()
		}
		for i := range codes {
			codes[i] = w.Uint64()
		}
		got, want := make([]uint16, 30), make([]uint16, 30)
		resident.HammingNoAVX512(got, codes, code)
		resident.HammingGeneric(want, codes, code)
		if !slices.Equal(got, want) {
			t.Errorf("Hamming of codes of %d words = %v, want %v", words, got, want)
		}
	}
}
