// Package heap decides how much room for garbage the collector leaves.
//
// By default the heap grows to twice what lives in it before the next collection. An index in memory is replaced seldom and
// has few pointers, so that looking through it costs little, but half of the process's memory would be room for garbage.
// A small heap, on the other hand, is collected many times a second while documents are processed. The room is that of a
// process without the index, 128 MiB at least, and an eighth of the index.
package heap

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	standard = 100 // of Go
	// room is the least room for garbage in bytes.
	room = 128 << 20
	// shareOfKept is the room for what is kept, as a fraction: 1/shareOfKept.
	shareOfKept = 8
	// fewest is the smallest percentage: collections of a heap that is looked through so
	// often would take time from everything else. most bounds the room until it is known
	// what lives in the heap.
	fewest, most = 15, 400

	interval = time.Second
	// step is the least change of the percentage, each of which stops all goroutines for a
	// moment.
	step = 5
)

// Percent returns the percentage by which a heap may grow before it is collected
// (debug.SetGCPercent), if live bytes live in it and kept of them are kept for long.
func Percent(live, kept int64) int {
	live = max(live, kept, 1)
	garbage := max(live-kept, room) + kept/shareOfKept
	return int(max(min(100*garbage/live, most), fewest))
}

// Watch sets the percentage by what is kept until ctx ends, and then to the default. It
// does nothing if the process was started with another one than the default (GOGC).
func Watch(ctx context.Context, kept func() int64) {
	current := debug.SetGCPercent(standard)
	if current != standard {
		debug.SetGCPercent(current)
		return
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	set := func(percent int) {
		if percent-current >= step || current-percent >= step {
			debug.SetGCPercent(percent)
			current = percent
		}
	}
	defer func() { debug.SetGCPercent(standard) }()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		metrics.Read(live)
		set(Percent(int64(live[0].Value.Uint64()), kept())) //nolint:gosec // no heap has 2^63 bytes
	}
}
