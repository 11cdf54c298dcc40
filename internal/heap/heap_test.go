package heap_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/magpie-search/magpie/internal/heap"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestPercent(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for _, c := range []struct{ live, kept, want int64 }{
		{0, 0, 400},
		{10 * mb, 0, 400},
		{64 * mb, 0, 200},          // 128 MB
		{1000 * mb, 0, 100},        // nothing is kept: the default
		{400 * mb, 200 * mb, 56},   // as much as is not kept, and an eighth of 200
		{1040 * mb, 1000 * mb, 24}, // 128 + 125 MB
		{10_000 * mb, 9990 * mb, 15},
		{10 * mb, 1000 * mb, 25}, // what is kept is not counted as live yet
	} {
		if got := heap.Percent(c.live, c.kept); int64(got) != c.want {
			t.Errorf("%d MB live, %d MB kept: %d %%, want %d %%", c.live/mb, c.kept/mb, got, c.want)
		}
	}
}

// The heap of a process that keeps much grows by less than it keeps.
func TestWatch(t *testing.T) {
	index := make([]byte, 512<<20)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		heap.Watch(ctx, func() int64 { return int64(len(index)) })
	}()
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	testkit.WaitFor(t, "a smaller percentage", func() bool { return percent() < 60 })
	cancel()
	<-ended
	if now := percent(); now != 100 {
		t.Errorf("%d %% at the end", now)
	}
	runtime.KeepAlive(index)
}
