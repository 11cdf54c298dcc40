package resident_test

import (
	"math"
	"slices"
	"testing"

	"github.com/magpie-search/magpie/internal/search/resident"
)

func TestDotIsExact(t *testing.T) {
	t.Parallel()
	w := newWorld(1, 1, 1)
	for n := range 20000 {
		if n > 300 && n%997 != 0 && n != 16000 {
			continue
		}
		a, b := make([]int8, n), make([]int16, n)
		for _, extreme := range []bool{false, true} {
			want := 0
			for i := range a {
				a[i], b[i] = int8(w.IntN(255)-127), int16(w.IntN(65535)-32767)
				if extreme {
					a[i], b[i] = -127, math.MaxInt16
				}
				want += int(a[i]) * int(b[i])
			}
			if got := resident.Dot(a, b); got != want {
				t.Fatalf("Dot of %d components = %d, want %d", n, got, want)
			}
			if got := resident.DotGeneric(a, b); got != want {
				t.Fatalf("DotGeneric of %d components = %d, want %d", n, got, want)
			}
		}
	}
}

func TestHammingEqualsGeneric(t *testing.T) {
	t.Parallel()
	w := newWorld(2, 1, 1)
	for _, words := range []int{1, 4, 8, 12, 256} {
		for n := range 70 {
			code, codes := make([]uint64, words), make([]uint64, words*n)
			for i := range code {
				code[i] = w.Uint64()
			}
			for i := range codes {
				codes[i] = w.Uint64()
			}
			if n > 1 {
				for i := range code {
					codes[i], codes[words+i] = code[i], ^code[i]
				}
			}
			got, want := make([]uint16, n), make([]uint16, n)
			resident.Hamming(got, codes, code)
			resident.HammingGeneric(want, codes, code)
			if !slices.Equal(got, want) || n > 1 && (want[0] != 0 || int(want[1]) != 64*words) {
				t.Fatalf("Hamming of %d codes of %d words = %v, want %v", n, words, got, want)
			}
		}
	}
}

func TestBelowEqualsGeneric(t *testing.T) {
	t.Parallel()
	w := newWorld(3, 1, 1)
	for _, limit := range []int{0, 1, 40, 120, 1 << 14, math.MaxInt16, math.MaxUint16} {
		var numbers [64]uint16
		for i := range numbers {
			numbers[i] = uint16(w.IntN(250))
			if i%9 == 0 {
				numbers[i] = 1 << 14
			}
		}
		if got, want := resident.Below(&numbers, limit), resident.BelowGeneric(&numbers, limit); got != want {
			t.Errorf("Below(%d) = %b, want %b", limit, got, want)
		}
	}
}

func TestReachingEqualsGeneric(t *testing.T) {
	t.Parallel()
	w := newWorld(5, 1, 1)
	for _, floor := range []float64{math.SmallestNonzeroFloat64, 0.25, 0.5, 1, math.MaxFloat64} {
		var scores [64]float64
		for i := range scores {
			switch i % 5 {
			case 0:
				scores[i] = floor
			case 1:
				scores[i] = math.Nextafter(floor, 0)
			case 2, 3:
				scores[i] = w.Float64()
			}
		}
		if got, want := resident.Reaching(&scores, floor), resident.ReachingGeneric(&scores, floor); got != want || got&1 == 0 {
			t.Errorf("Reaching(%g) = %b, want %b", floor, got, want)
		}
	}
}

func TestScanEqualsGeneric(t *testing.T) {
	t.Parallel()
	w := newWorld(4, 1, 1)
	vectorised := 0
	for range 3000 {
		dictionary := []int{50, 3000, 65530, 65536, 200_000}[w.IntN(5)]
		terms := make([]uint32, w.IntN(400))
		positions := make([]uint16, len(terms))
		position := uint16(0)
		for i := range terms {
			position += uint16([]int{1, 1, 1, 1, 0, 2, 3, 4, 9, 60}[w.IntN(10)]) // some distances equal codes
			terms[i], positions[i] = uint32(w.IntN(dictionary)), position
		}
		var marked []uint32
		for range w.IntN(60) {
			t := uint32(w.IntN(dictionary))
			if len(terms) > 0 && w.IntN(2) == 0 {
				t = terms[w.IntN(len(terms))]
			}
			if !slices.Contains(marked, t) {
				marked = append(marked, t)
			}
		}
		matchWords := w.IntN(len(marked) + 1)
		got, want, ok := resident.NewTermScanner(marked, dictionary, matchWords).Scan(terms, positions, w.IntN(64))
		if !slices.Equal(got, want) {
			t.Fatalf("scan for %v in %v at %v: %v, want %v", marked, terms, positions, got, want)
		}
		n := 0
		for _, term := range terms {
			if i := slices.Index(marked, term); i >= 0 && i < matchWords {
				n++
			}
		}
		if n != len(got) {
			t.Fatalf("%d matches, want %d", len(got), n)
		}
		if ok {
			vectorised++
		}
	}
	t.Logf("%d of 3000 scans were vectorised", vectorised)
}
