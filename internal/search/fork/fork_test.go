package fork_test

import (
	"sync/atomic"
	"testing"

	"magpie/internal/search/fork"
)

func TestHalvesCoverEverythingOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 3, 7, 8, 1001} {
		seen := make([]atomic.Int32, n)
		fork.Halves(n, 3, func(from, to int) {
			for i := from; i < to; i++ {
				seen[i].Add(1)
			}
		})
		for i := range seen {
			if seen[i].Load() != 1 {
				t.Errorf("%d of %d was done %d times", i, n, seen[i].Load())
			}
		}
	}
}

func TestAPanicReachesWhoeverWaits(t *testing.T) {
	t.Parallel()
	for _, worth := range []bool{true, false} {
		func() {
			defer func() {
				if got := recover(); got != "broken" {
					t.Errorf("recovered %v", got)
				}
			}()
			fork.Go(worth, func() { panic("broken") })()
		}()
	}
}

func TestWaitingTwiceIsAllowed(t *testing.T) {
	t.Parallel()
	done := false
	wait := fork.Go(true, func() { done = true })
	wait()
	wait()
	if !done {
		t.Error("it was not done")
	}
}
