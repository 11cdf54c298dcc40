package syncer_test

import (
	"context"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// reportTotal makes the source report a number of items on its first page.
func (f *fixture) reportTotal(total int) {
	f.script.Lock()
	defer f.script.Unlock()
	first := true
	f.script.Reshape = func(page connectors.Page) connectors.Page {
		if first {
			page.Total = total
		}
		first = page.Done
		return page
	}
}

func TestTotalsAreCompared(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.SlicePages = 1
	f.script.PageSize = 40
	f.script.fill(99, "v1")
	f.work()
	for total, warns := range map[int]bool{0: false, 90: false, 100: false, 101: true, 1500: true} {
		f.reportTotal(total)
		plan, err := f.jobs.Plan(f.ctx, f.row.ID, auto())
		f.must(err)
		for name, job := range map[string]string{"the plan": strings.Join(f.wait(plan.ID).Warnings, "\n")} {
			if strings.Contains(job, "items were seen") != warns {
				t.Errorf("%s of %d items warns: %q", name, total, job)
			}
		}
		f.reportTotal(total)
		job := f.sync(auto())
		text := strings.Join(job.Warnings, "\n")
		if job.Announced != total || job.Status != entjob.StatusCompleted || strings.Contains(text, "items were seen") != warns {
			t.Errorf("a sync of %d items announces %d and warns: %q", total, job.Announced, text)
		}
		if total == 1500 && !strings.Contains(text, "99 of about 1,500 items were seen: the source did not list 1,401") {
			t.Errorf("the warning is %q", text)
		}
	}
}

func TestNoticesBecomeWarnings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.script.PageSize = 2
	f.script.fill(7, "v1")
	notice := func(ctx context.Context, _ string) error {
		connectors.Notice(ctx, "Platform ends a part of its API on 2026-11-11.")
		return nil
	}
	f.script.hooks(notice, notice)
	f.work()
	job := f.sync(auto())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 7, Added: 7})
	if len(job.Warnings) != 1 || !strings.Contains(job.Warnings[0], "2026-11-11") {
		t.Errorf("the warnings are %q", job.Warnings)
	}
}
