package syncer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/worker/syncer"
)

// A crowdedIndex counts the calls of Put that are under way. Each lasts until so many
// are, or until it has lasted for long.
type crowdedIndex struct {
	syncer.Index

	patience time.Duration
	once     bool // only the first crowd is waited for

	mu        sync.Mutex
	crowd     int
	now, most int
	full      chan struct{}
	isOver    bool
}

// expect begins anew, and returns the most calls that were under way before.
func (c *crowdedIndex) expect(crowd int) (most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	most = c.most
	c.crowd, c.most, c.full, c.isOver = crowd, 0, make(chan struct{}), false
	return most
}

// enter returns a channel that is closed when there is a crowd.
func (c *crowdedIndex) enter() (full <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	full = c.full
	c.now++
	c.most = max(c.most, c.now)
	if c.now < c.crowd || c.isOver {
		return full
	}
	close(c.full)
	if c.isOver = c.once; !c.once {
		c.full = make(chan struct{})
	}
	return full
}

func (c *crowdedIndex) Put(ctx context.Context, scope viewer.Scope, fence index.Fence, r *index.Record) (index.Outcome, error) {
	full := c.enter()
	defer func() {
		c.mu.Lock()
		c.now--
		c.mu.Unlock()
	}()
	waiting, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	select {
	case <-full:
	case <-waiting.Done():
	}
	return c.Index.Put(ctx, scope, fence, r)
}

// New documents that wait for their transaction let the next items be processed, but
// not any number of them.
func TestDocumentsWaitToBeStoredWithoutAPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ parallel, most int }{{1, 1}, {2, 2 + 8}, {3, 3 + 16}} {
		t.Run(fmt.Sprint(c.parallel), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.options.Parallel, f.options.Window = c.parallel, -1
			crowded := &crowdedIndex{Index: f.index, patience: 30 * time.Second, once: true}
			crowded.expect(c.most)
			f.substitute = crowded
			f.script.fill(2*c.most, "v1")
			f.work()
			f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 2 * c.most, Added: 2 * c.most})
			if most := crowded.expect(c.parallel); most != c.most {
				t.Errorf("%d documents were stored or waited at a time, want %d", most, c.most)
			}

			// A document that is there keeps its place.
			f.script.fill(2*c.most, "v2")
			f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 2 * c.most, Modified: 2 * c.most})
			if most := crowded.expect(0); most != c.parallel {
				t.Errorf("%d changed documents were stored at a time by %d places", most, c.parallel)
			}
		})
	}
}

// A reading takes what a collection has.
type reading struct {
	at       index.Position
	passages map[uuid.UUID]int
}

func (r *reading) Begin(at index.Position, _ string, _ bool) error {
	r.at, r.passages = at, map[uuid.UUID]int{}
	return nil
}

func (r *reading) Entry(e *index.Entry) error {
	r.passages[e.Document] = len(e.Passages)
	return nil
}

// The documents of a first sync share transactions. Searches need not see them before
// the sync has ended, and must see all of them then.
func TestAFirstSyncIsStoredInGroups(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Parallel = 3
	crowded := &crowdedIndex{Index: f.index, patience: 100 * time.Millisecond}
	crowded.expect(16)
	f.substitute = crowded
	const items = 120
	f.script.fill(items, "v1")
	g := newGate(items)
	f.script.hooks(nil, g.hook(false))
	f.work()
	job := f.start(auto())
	state := func() index.State {
		t.Helper()
		narrow, err := f.scope.Narrow(f.row.CollectionID)
		f.must(err)
		states, err := f.index.States(t.Context(), narrow)
		f.must(err)
		return states[0]
	}
	<-g.reached
	testkit.WaitFor(t, "the documents before the last one", func() bool { return state().Documents == items-1 })
	if s := state(); s.Required != 0 {
		t.Errorf("a search must see change %d before the sync has ended", s.Required)
	}
	close(g.open)
	f.expect(f.wait(job.ID), entjob.StatusCompleted, syncjob.Counters{Collected: items, Added: items})
	s := state()
	if s.Required != s.Change || s.Documents != items || s.Passages != items {
		t.Errorf("after the sync the state is %+v", s)
	}
	if s.Change >= items {
		t.Errorf("%d documents were stored in %d transactions", items, s.Change)
	}
	t.Logf("%d documents in %d transactions", items, s.Change)
	var all reading
	f.must(f.index.Changes(t.Context(), f.scope, s, index.Position{}, &all))
	for path, d := range f.documents() {
		if all.passages[d.ID] != 1 {
			t.Errorf("%s has %d passages in search", path, all.passages[d.ID])
		}
	}
	if len(all.passages) != items || all.at.Change != s.Change {
		t.Errorf("searches find %d documents at change %d", len(all.passages), all.at.Change)
	}
	if f.live() != items {
		t.Error("documents are missing")
	}
}

// Wherever the connection breaks while a group is stored, the documents, the ledger and
// the counters of the job agree, and no item is lost or done twice.
func TestAnInterruptedGroupIsExact(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	f := newFixtureOn(t, database.AppURL, testkit.Redis(t))
	f.options.Retries, f.options.Parallel = 1000, 3
	crowded := &crowdedIndex{Index: f.index, patience: 50 * time.Millisecond}
	crowded.expect(12)
	f.substitute = crowded
	admin, err := pgx.Connect(t.Context(), database.AdminURL)
	f.must(err)
	t.Cleanup(func() { _ = admin.Close(context.Background()) })
	f.work()
	const items = 40
	f.script.fill(items, "v1")
	// How often the triggers fire before the third transaction, which is that of the first
	// group: twice for a statement that inserts or updates, and for the ledger's first one.
	skips := map[boundary]int{{"document_changes", "commit"}: 2}
	for table, skip := range map[string]int{
		"documents": 2, "passages": 2, "passage_index": 2, "document_texts": 4, "sync_items": 6, "collection_state": 4, "document_changes": 4,
	} {
		skips[boundary{table, "before"}], skips[boundary{table, "after"}] = skip, skip
	}
	happened := 0
	for b, skip := range skips {
		f.row = f.connector("scripted", nil)
		disarm := f.arm(admin, b, skip)
		f.expectConsistent(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: items, Added: items}, items)
		if disarm() {
			happened++
		}
		var difference int
		f.must(admin.QueryRow(t.Context(), `select (select count(*) from passages p full join passage_index i on i.passage_id = p.id where p.id is null or i.passage_id is null)
			+ (select count(*) from documents d where d.connector_id = $1 and not exists (select from document_texts x where x.document_id = d.id))`, f.row.ID).Scan(&difference))
		if difference != 0 {
			t.Errorf("%v: %d rows are missing", b, difference)
		}
		if t.Failed() {
			t.Fatalf("after %v", b)
		}
	}
	if happened < len(skips) {
		t.Errorf("only %d of %d connections were cut", happened, len(skips))
	}
}
