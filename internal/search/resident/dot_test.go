package resident_test

import (
	"math"
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
