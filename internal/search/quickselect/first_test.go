package quickselect_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/magpie-search/magpie/internal/search/quickselect"
)

func TestFirstEqualsSorting(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 4))
	for round := range 2000 {
		list := make([]int, random.IntN(400))
		for i := range list {
			list[i] = random.IntN(1 + round%300) // with many equal elements
		}
		switch round % 4 {
		case 1:
			slices.Sort(list)
		case 2:
			slices.SortFunc(list, func(a, b int) int { return b - a })
		}
		want := slices.Sorted(slices.Values(list))
		n := random.IntN(len(list) + 3)
		got := quickselect.First(slices.Clone(list), n, cmp.Compare[int])
		slices.Sort(got)
		if !slices.Equal(got, want[:min(n, len(want))]) {
			t.Fatalf("First(%v, %d) = %v, want %v", list, n, got, want[:min(n, len(want))])
		}
	}
}
