package bench_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/eval/bench"
)

func TestQuantilesAreNearestRanks(t *testing.T) {
	t.Parallel()
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for share, want := range map[float64]int{0: 1, .001: 1, .5: 50, .501: 51, .95: 95, .99: 99, .999: 100, 1: 100} {
		if got := bench.Quantile(hundred, share); got != want {
			t.Errorf("%v: %d, want %d", share, got, want)
		}
	}
	if bench.Quantile([]int{7}, .01) != 7 || bench.Quantile([]int(nil), .5) != 0 {
		t.Error("one value, or none")
	}
	l := bench.Summarize([]time.Duration{3, 1, 2})
	if l.Calls != 3 || l.P50 != 2 || l.P95 != 3 || l.P99 != 3 || l.Longest != 3 {
		t.Errorf("%+v", l)
	}
}

func TestEveryClientAsksAndTurnsAreShared(t *testing.T) {
	t.Parallel()
	var mutex sync.Mutex
	turns := make(map[int]int)
	l := bench.Load(t.Context(), 4, 0, func(_ context.Context, turn int) (int, error) {
		mutex.Lock()
		defer mutex.Unlock()
		turns[turn]++
		return turn, nil
	})
	if l.Calls != 4 || l.Clients != 4 || l.Errors != 0 || l.Found != 1.5 || l.PerSecond <= 0 || len(turns) != 4 {
		t.Errorf("%+v, turns %v", l, turns)
	}
	l = bench.Load(t.Context(), 2, 20*time.Millisecond, func(_ context.Context, turn int) (int, error) {
		mutex.Lock()
		defer mutex.Unlock()
		turns[turn]++
		return 0, nil
	})
	if l.Calls < 2 || l.P50 > l.P95 || l.P95 > l.P99 || l.P99 > l.Longest {
		t.Errorf("%+v", l)
	}
}

func TestErrorsAreCountedAndClientsGiveUp(t *testing.T) {
	t.Parallel()
	broken := errors.New("it broke")
	l := bench.Load(t.Context(), 3, time.Hour, func(_ context.Context, turn int) (int, error) {
		if turn%3 == 0 {
			return 0, broken
		}
		if turn < 30 {
			return 1, nil
		}
		return 0, broken
	})
	if l.Errors != 15 || l.Error != "it broke" || l.Calls == 0 || l.Found != 1 {
		t.Errorf("%+v", l)
	}
}

func TestTheEndOfTheContextIsNoError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	l := bench.Load(ctx, 2, time.Hour, func(ctx context.Context, turn int) (int, error) {
		if turn > 10 {
			cancel()
			return 0, ctx.Err()
		}
		return 0, nil
	})
	cancel()
	if l.Errors != 0 {
		t.Errorf("%+v", l)
	}
}
