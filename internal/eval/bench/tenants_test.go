package bench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/eval/bench"
)

func TestTenantsFailWhenABudgetIsMissed(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change func(*bench.TenantsResult)
		want   string // "" is no failure
	}{
		"as the budgets": {func(*bench.TenantsResult) {}, ""},
		"no connectors": {func(r *bench.TenantsResult) {
			r.Connectors, r.QuietSync, r.LoudSync, r.NeighbourOpen = 0, bench.Latencies{}, bench.Latencies{}, 0
		}, ""},
		"slow searches":    {func(r *bench.TenantsResult) { r.Loud.P99 = 21 * time.Millisecond }, "p99 of the others' searches"},
		"slow syncs":       {func(r *bench.TenantsResult) { r.LoudSync.P50 = 310 * time.Millisecond }, "p50 of small syncs"},
		"a lazy neighbour": {func(r *bench.TenantsResult) { r.NeighbourOpen = 0 }, "--files"},
		"much memory":      {func(r *bench.TenantsResult) { r.Resident = 1<<20 + 1 }, "collections in memory"},
		"a failed sync":    {func(r *bench.TenantsResult) { r.LoudSync.Errors, r.LoudSync.Error = 1, "refused" }, "1 error, the first: refused"},
	} {
		r := &bench.TenantsResult{
			Connectors: 1, NeighbourOpen: 1, SearchMemory: 1 << 20, Resident: 1 << 20,
			Quiet: bench.Latencies{Calls: 9, P99: 10 * time.Millisecond}, Loud: bench.Latencies{Calls: 9, P99: 20 * time.Millisecond},
			QuietSync: bench.Latencies{Calls: 1, P50: 100 * time.Millisecond}, LoudSync: bench.Latencies{Calls: 1, P50: 300 * time.Millisecond},
		}
		c.change(r)
		switch err := r.Failure(); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", what, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", what, err)
		}
	}
}
