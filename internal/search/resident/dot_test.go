package resident_test

import (
	"math"
	"slices"
	"testing"

	"magpie/internal/search/resident"
)

func TestProductsAreExact(t *testing.T) {
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
				t.Fatalf("Dot of %d = %d, want %d", n, got, want)
			}
			if got := resident.DotPlain(a, b); got != want {
				t.Fatalf("DotPlain of %d = %d, want %d", n, got, want)
			}
		}
	}
}

func TestDifferencesAreCounted(t *testing.T) {
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
			resident.Differ(got, codes, code)
			resident.DifferPlain(want, codes, code)
			if !slices.Equal(got, want) || n > 1 && (want[0] != 0 || int(want[1]) != 64*words) {
				t.Fatalf("%d codes of %d words differ by %v, want %v", n, words, got, want)
			}
		}
	}
}
