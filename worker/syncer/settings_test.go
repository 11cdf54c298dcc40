package syncer_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/syncjob"
)

func TestChangedSettingsWalkOnce(t *testing.T) {
	t.Parallel()
	f := newFeedFixture(t, "feeding", 5)
	walked := f.walks()
	f.must(f.reread().Update().SetConfig(map[string]any{"filters": map[string]any{"exclude": []any{"doc-0002.md"}}}).Exec(f.ctx))
	f.sync(auto())
	if f.walks() == walked {
		t.Error("the source was not walked after settings changed")
	}
	f.expectEntry("doc-0002.md", syncitem.StatusDeleted, "")
	if n := f.script.opened(); n != 0 {
		t.Errorf("%d unchanged items were opened", n)
	}
	walked = f.walks()
	f.sync(auto())
	if f.walks() != walked {
		t.Error("the source was walked again")
	}
	// Without the filter, only the item that was left out is opened.
	f.must(f.reread().Update().SetConfig(map[string]any{}).Exec(f.ctx))
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 5, Added: 1, Unchanged: 4})
	if n := f.script.opened(); n != 1 {
		t.Errorf("%d items were opened, want the one that was left out", n)
	}
}

// Another limit of sizes judges all items again, also those whose size the source does
// not tell, and opens none that it would refuse.
func TestAnotherLimitOfSizesJudgesAgain(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int64{"told": 0, "not told": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.row = f.connector("feeding", nil)
			f.script.set("small.md", "v1", "# Small\n")
			f.script.set("large.md", "v1", strings.Repeat("a long text ", 1000))
			for _, path := range []string{"small.md", "large.md"} {
				f.script.change(path, func(f *file) { f.ReportedSize = size })
			}
			sync := func(limit int64, status entjob.Status, want syncjob.Counters, opened int) {
				t.Helper()
				f.options.MaxBytes = limit
				stop := f.work()
				defer stop()
				f.expect(f.sync(auto()), status, want)
				if n := f.script.opened(); n != opened {
					t.Errorf("with the limit %d, %d items were opened, want %d", limit, n, opened)
				}
			}
			const low, high = 1000, 1 << 20
			sync(high, entjob.StatusCompleted, syncjob.Counters{Collected: 2, Added: 2}, 2)
			sync(high, entjob.StatusCompleted, syncjob.Counters{}, 0)
			sync(low, entjob.StatusPartial, syncjob.Counters{Collected: 2, Unchanged: 1, Failed: 1}, 0)
			f.expectEntry("large.md", syncitem.StatusFailed, "too large")
			f.must(f.reread().Update().SetConfig(map[string]any{"filters": map[string]any{"exclude": []any{"none"}}}).Exec(f.ctx))
			sync(low, entjob.StatusPartial, syncjob.Counters{Collected: 2, Unchanged: 1, Failed: 1}, 0)
			sync(high, entjob.StatusCompleted, syncjob.Counters{Collected: 2, Unchanged: 2}, 1)
		})
	}
}
