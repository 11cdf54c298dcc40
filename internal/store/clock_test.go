package store_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
)

// The clock of the process is wrong, and changes while the process runs.
func TestTheClockTellsTheTimeOfTheDatabase(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	for _, wrong := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute} {
		var offset atomic.Int64
		offset.Store(int64(wrong))
		clock, err := store.NewClock(t.Context(), db.Pool, store.ClockOptions{
			Process: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }, Every: 5 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		off := func() time.Duration {
			var before, after time.Time
			read := func(into *time.Time) {
				if err := db.Pool.QueryRow(t.Context(), "select clock_timestamp()").Scan(into); err != nil {
					t.Fatal(err)
				}
			}
			read(&before)
			now := clock.Now()
			read(&after)
			switch {
			case now.Before(before):
				return now.Sub(before)
			case now.After(after):
				return now.Sub(after)
			default:
				return 0
			}
		}
		if d := off(); d.Abs() > time.Second {
			t.Errorf("with a clock that is %s ahead: %s off", wrong, d)
		}
		offset.Add(int64(time.Hour))
		for deadline := time.Now().Add(20 * time.Second); off().Abs() > time.Second; {
			if time.Now().After(deadline) {
				t.Fatalf("after the clock was set it stays %s off", off())
			}
		}
		clock.Close()
		if d := off(); d.Abs() > time.Second {
			t.Errorf("after the end it is %s off", d)
		}
	}
}
