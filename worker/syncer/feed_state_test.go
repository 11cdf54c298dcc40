package syncer_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// What a source stores while it reads changes is there for itself at once, and
// stored when the page is processed.
func TestTheStateOfAFeedWaitsForItsPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.States = state.New(f.db.Pool)
	f.row = f.connector("feeding", nil)
	f.script.fill(3, "v1")
	f.work()
	stored, err := state.New(f.db.Pool).Of(f.scope, f.row.ID)
	f.must(err)
	f.must(stored.Put(f.ctx, "old/1", []byte("1")))
	f.must(stored.Put(f.ctx, "older", []byte("1")))
	f.sync(auto())
	keys := func() []string {
		t.Helper()
		names, err := stored.Keys(f.ctx, "")
		f.must(err)
		return names
	}

	f.script.Lock()
	f.script.BeforeChanges = func(ctx context.Context, token string) error {
		f.script.Lock()
		own := f.script.Settings.State
		f.script.Unlock()
		put, del := own.Put(ctx, "new", []byte(token)), own.DeletePrefix(ctx, "old/")
		late := own.Put(ctx, "old/2", nil)
		value, got := own.Get(ctx, "new")
		names, listed := own.Keys(ctx, "")
		if err := errors.Join(put, del, late, got, listed); err != nil || string(value) != token || !slices.Equal(names, []string{"new", "old/2", "older"}) {
			t.Errorf("the source sees %q and %q, %v", value, names, err)
		}
		return nil
	}
	f.script.Unlock()
	f.script.set("doc-0001.md", "v2", "# Other\n\nOther text.\n")
	f.script.Script(connectortest.Fault{On: connectortest.OnOpen, Err: connectors.Fatal(errors.New("no"))})
	if job := f.sync(auto()); job.Status != entjob.StatusFailed {
		t.Fatalf("the job is %s", job.Status)
	}
	if got := keys(); !slices.Equal(got, []string{"old/1", "older"}) {
		t.Errorf("after a page that was not processed the state has %q", got)
	}
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Modified: 1})
	if got := keys(); !slices.Equal(got, []string{"new", "old/2", "older"}) {
		t.Errorf("after the page was processed the state has %q", got)
	}
}
