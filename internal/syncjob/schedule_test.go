package syncjob_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/syncjob"
)

const (
	second = time.Second
	minute = time.Minute
)

func TestParseInterval(t *testing.T) {
	t.Parallel()
	want := map[string]time.Duration{
		"15m": 15 * minute, "30m": 30 * minute, "1h": time.Hour, "2h": 2 * time.Hour,
		"4h": 4 * time.Hour, "6h": 6 * time.Hour, "12h": 12 * time.Hour, "24h": 24 * time.Hour,
	}
	if len(syncjob.Intervals()) != len(want) {
		t.Errorf("there are the intervals %v", syncjob.Intervals())
	}
	for text, duration := range want {
		if got, err := syncjob.ParseInterval(text); err != nil || got != duration {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "5m", "1d", "60m", "6H", " 6h"} {
		if _, err := syncjob.ParseInterval(text); codeOf(err) != apierr.InvalidRequest {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestNextStartKeepsTheRhythm(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct{ intended, now, want time.Time }{
		{at, at, at.Add(time.Hour)},
		{at, at.Add(minute), at.Add(time.Hour)},
		{at, at.Add(time.Hour), at.Add(2 * time.Hour)},
		{at, at.Add(100*time.Hour + minute), at.Add(101 * time.Hour)},
		{at.Add(minute), at, at.Add(minute)},
	} {
		if got := syncjob.NextStart(c.intended, time.Hour, c.now); !got.Equal(c.want) {
			t.Errorf("intended %v, now %v: %v", c.intended, c.now, got)
		}
	}
}

// jobsOf counts the connector's jobs that the schedule started.
func (f *fixture) jobsOf(id uuid.UUID) int {
	f.Helper()
	n, err := f.db.Ent.SyncJob.Query().Where(entjob.ConnectorID(id), entjob.CauseEQ(entjob.CauseSchedule)).Count(f.ctx)
	f.must(err)
	return n
}

func (f *fixture) finishAll() {
	f.Helper()
	for _, t := range f.queue.take() {
		run, err := f.jobs.Claim(f.Context(), t)
		f.must(err)
		f.must(run.Complete(f.Context()))
	}
}

func TestEveryIntervalFiresAtItsTimes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	begin := f.clock.now()
	rows := map[string]*ent.Connector{}
	for _, interval := range syncjob.Intervals() {
		every, err := syncjob.ParseInterval(interval)
		f.must(err)
		rows[interval] = f.scheduled(interval, begin.Add(every))
	}
	for range 24 * 4 { // a day in steps of a quarter of an hour
		f.clock.advance(15 * minute)
		_, err := f.jobs.StartDue(f.Context())
		f.must(err)
		f.finishAll()
	}
	for interval, row := range rows {
		every, _ := syncjob.ParseInterval(interval)
		if got, want := f.jobsOf(row.ID), int(24*time.Hour/every); got != want {
			t.Errorf("%s: %d syncs in a day, not %d", interval, got, want)
		}
		now, err := f.db.Ent.Connector.Get(f.ctx, row.ID)
		f.must(err)
		if want := f.clock.now().Add(every); !now.NextSyncAt.Equal(want) {
			t.Errorf("%s: the next one is at %v, not %v", interval, now.NextSyncAt, want)
		}
	}
}

func TestSchedulesFireOnceAmongManyWorkers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows := make([]*ent.Connector, 12)
	for i := range rows {
		rows[i] = f.scheduled("1h", f.clock.now())
	}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if _, err := f.jobs.StartDue(f.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, row := range rows {
		if n := f.jobsOf(row.ID); n != 1 {
			t.Errorf("connector %s was synced %d times", row.ID, n)
		}
	}
	if got := f.queue.take(); len(got) != len(rows) {
		t.Errorf("%d tasks for %d connectors", len(got), len(rows))
	}
}

func TestMissedStartsAreNotMadeUpForAndOpenJobsSkipOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	begin := f.clock.now()
	row := f.scheduled("1h", begin)
	f.clock.advance(10*time.Hour + minute) // no worker was there
	back := f.clock.now()
	for range 10 { // within the maximum spread
		_, err := f.jobs.StartDue(f.Context())
		f.must(err)
		f.clock.advance(minute)
	}
	_, err := f.jobs.StartDue(f.Context())
	f.must(err)
	if n := f.jobsOf(row.ID); n != 1 {
		t.Fatalf("%d syncs after a long pause", n)
	}
	now, err := f.db.Ent.Connector.Get(f.ctx, row.ID)
	f.must(err)
	if next := now.NextSyncAt; next.Before(back.Add(time.Hour)) || next.After(back.Add(time.Hour+10*minute)) {
		t.Errorf("the next one is at %v, an hour after the one that was late", next)
	}
	f.clock.advance(time.Hour) // the job is still open
	_, err = f.jobs.StartDue(f.Context())
	f.must(err)
	if n := f.jobsOf(row.ID); n != 1 {
		t.Errorf("%d syncs while one is open", n)
	}
	f.finishAll()
	f.clock.advance(time.Hour)
	for range 11 { // no worker called StartDue for an hour: the start is spread again
		_, err = f.jobs.StartDue(f.Context())
		f.must(err)
		f.clock.advance(minute)
	}
	if n := f.jobsOf(row.ID); n != 2 {
		t.Errorf("%d syncs after it ended", n)
	}
}

// After an outage of a day each connector is synced once, and not all at one
// moment, whatever the number of workers.
func TestAfterAnOutageSyncsAreSpread(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	begin := f.clock.now()
	rows := make([]*ent.Connector, 24)
	for i := range rows {
		rows[i] = f.scheduled("1h", begin)
	}
	f.clock.advance(24 * time.Hour)
	steps, most := 0, 0
	for range 21 { // ten minutes, and the first one
		var workers sync.WaitGroup
		for range 3 {
			workers.Go(func() {
				if _, err := f.jobs.StartDue(f.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		workers.Wait()
		if n := len(f.queue.tasks); n > 0 {
			steps, most = steps+1, max(most, n)
		}
		f.finishAll()
		f.clock.advance(30 * second)
	}
	for _, row := range rows {
		if n := f.jobsOf(row.ID); n != 1 {
			t.Errorf("connector %s was synced %d times", row.ID, n)
		}
	}
	if steps < 6 || most > 12 {
		t.Errorf("%d syncs came in %d steps, at most %d at once", len(rows), steps, most)
	}
}

func TestAClockThatWasSetBackDelaysNoSchedule(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	now := f.clock.now()
	far, right := f.scheduled("1h", now.Add(48*time.Hour)), f.scheduled("24h", now.Add(23*time.Hour))
	_, err := f.jobs.StartDue(f.Context())
	f.must(err)
	for row, want := range map[*ent.Connector]time.Time{far: now.Add(time.Hour), right: now.Add(23 * time.Hour)} {
		got, err := f.db.Ent.Connector.Get(f.ctx, row.ID)
		f.must(err)
		if !got.NextSyncAt.Equal(want) {
			t.Errorf("the next time is %v, not %v", got.NextSyncAt, want)
		}
	}
	f.clock.advance(time.Hour)
	_, err = f.jobs.StartDue(f.Context())
	f.must(err)
	if f.jobsOf(far.ID) != 1 || f.jobsOf(right.ID) != 0 {
		t.Errorf("%d and %d syncs", f.jobsOf(far.ID), f.jobsOf(right.ID))
	}
}

func TestOnlyEnabledScheduledConnectorsFire(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	due := f.clock.now()
	disabled, paused, manual, later := f.scheduled("1h", due), f.scheduled("1h", due), f.scheduled("1h", due), f.scheduled("1h", due.Add(second))
	f.must(disabled.Update().SetEnabled(false).Exec(f.ctx))
	f.must(paused.Update().SetStatus(connector.StatusPaused).Exec(f.ctx))
	f.must(manual.Update().SetSyncStrategy(connector.SyncStrategyManual).Exec(f.ctx))
	fresh := f.scheduled("24h", due)
	f.must(fresh.Update().ClearNextSyncAt().Exec(f.ctx))
	synced := f.scheduled("1h", due)
	f.must(synced.Update().ClearNextSyncAt().SetLastSync(due.Add(-minute)).Exec(f.ctx))
	_, err := f.jobs.StartDue(f.Context())
	f.must(err)
	var fired []uuid.UUID
	for _, t := range f.queue.take() {
		fired = append(fired, f.job(t.JobID).ConnectorID)
	}
	if !slices.Equal(fired, []uuid.UUID{fresh.ID}) {
		t.Errorf("fired %v, want the fresh one %v only (later is %v)", fired, fresh.ID, later.ID)
	}
	now, err := f.db.Ent.Connector.Get(f.ctx, synced.ID)
	f.must(err)
	if want := due.Add(-minute + time.Hour); now.NextSyncAt == nil || !now.NextSyncAt.Equal(want) {
		t.Errorf("the next time of one synced before is %v, not %v", now.NextSyncAt, want)
	}
}

func ExampleIntervals() {
	fmt.Println(syncjob.Intervals())
	// Output: [15m 30m 1h 2h 4h 6h 12h 24h]
}
