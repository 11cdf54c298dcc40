package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

var errBroken = errors.New("the disk has a scratch")

// failing makes some paths fail to open.
func failing(err error, paths ...string) func(context.Context, string) error {
	return func(_ context.Context, path string) error {
		for _, p := range paths {
			if p == path {
				return fmt.Errorf("open %s: %w", path, err)
			}
		}
		return nil
	}
}

func TestAFailedItemLeavesTheOthersAndItsOldVersion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.work()
	f.script.fill(5, "v1")
	f.script.set("data.json", "v1", `{"title": "Data", "text": "some old text"}`)
	f.sync(auto())

	f.script.set("data.json", "v2", `{"title": `)
	f.script.set("new.json", "v1", `{`)
	f.script.fill(3, "v2")
	f.script.hooks(nil, failing(errBroken, "doc-0001.md"))
	job := f.sync(auto())
	f.expect(job, entjob.StatusPartial, syncjob.Counters{Collected: 7, Modified: 2, Unchanged: 2, Failed: 3})
	f.expectEntry("data.json", syncitem.StatusFailed, "invalid JSON")
	f.expectEntry("new.json", syncitem.StatusFailed, "invalid JSON")
	f.expectEntry("doc-0001.md", syncitem.StatusFailed, "scratch")
	if l := f.ledger(); !l["doc-0001.md"].Retryable || l["data.json"].Retryable {
		t.Error("the ledger has wrong retryable marks")
	}
	documents := f.documents()
	if d := documents["data.json"]; d.Status != document.StatusIndexed || d.Failure == nil || !strings.Contains(f.text("data.json"), "some old text") {
		t.Errorf("the old version became %+v", d)
	}
	if d := documents["new.json"]; d == nil || d.Status != document.StatusFailed || d.IndexedAt != nil || d.Failure == nil || !strings.Contains(*d.Failure, "invalid JSON") {
		t.Errorf("the document of an item that always failed is %+v", d)
	}
	row, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID)
	f.must(err)
	if row.Status != connector.StatusActive || row.LastSync == nil || row.LastError == nil {
		t.Errorf("the connector is %+v", row)
	}
	if f.live() != 6 {
		t.Error("failed items were deleted")
	}

	// The next sync retries only them, even within the window.
	f.script.hooks(nil, nil)
	f.script.set("data.json", "v3", `{"title": "Data", "text": "new text"}`)
	f.script.opened()
	f.expect(f.sync(auto()), entjob.StatusPartial, syncjob.Counters{Collected: 7, Modified: 2, Unchanged: 4, Failed: 1})
	if n := f.script.opened(); n != 3 {
		t.Errorf("%d items were opened", n)
	}
	if d := f.documents()["data.json"]; d.Failure != nil {
		t.Errorf("the failure stays after success: %q", *d.Failure)
	}
	f.script.remove("new.json")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 6, Unchanged: 6})
	if d := f.documents()["new.json"]; d != nil {
		t.Errorf("the failed document of an item that is gone is still there: %+v", d)
	}
}

func TestFailedItemsAreRetriedWithinTheWindow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.work()
	f.script.fill(2, "v1")
	f.sync(auto())
	f.script.fill(2, "v2")
	f.script.hooks(nil, failing(errBroken, "doc-0001.md"))
	f.expect(f.sync(incremental("doc-0001.md")), entjob.StatusPartial, syncjob.Counters{Collected: 1, Failed: 1})
	f.script.hooks(nil, nil)
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 2, Modified: 1, Unchanged: 1})
}

func TestItemsThatAreTooLargeFail(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.MaxBytes = 1 << 20
	f.work()
	f.script.set("said.md", "v1", "# Said\n")
	f.script.change("said.md", func(f *file) { f.ReportedSize = 2 << 20 })
	f.script.set("unsaid.md", "v1", strings.Repeat("a long text ", 100_000))
	f.script.change("unsaid.md", func(f *file) { f.ReportedSize = -1 })
	f.script.set("fine.md", "v1", "# Fine\n\nText.\n")
	f.expect(f.sync(auto()), entjob.StatusPartial, syncjob.Counters{Collected: 3, Added: 1, Failed: 2})
	f.expectEntry("said.md", syncitem.StatusFailed, "too large")
	f.expectEntry("unsaid.md", syncitem.StatusFailed, "1 MiB")
	if n := f.script.opened(); n != 2 {
		t.Errorf("%d items were opened", n)
	}
}

func TestItemsThatVanishAreSkipped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.work()
	f.script.fill(3, "v1")
	f.script.hooks(nil, failing(connectors.ErrNotFound, "doc-0001.md"))
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 3, Added: 2, Skipped: 1})
	f.expectEntry("doc-0001.md", syncitem.StatusSkipped, "gone")
}

func TestWaitingForTheSourceIsNotAFailure(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Retries = 1
	f.script.PageSize = 5
	f.work()
	f.script.fill(20, "v1")
	var asked atomic.Int64
	limit := func(every int64) func(context.Context, string) error {
		return func(_ context.Context, at string) error {
			if asked.Add(1)%every == 0 {
				return connectors.Retryable(errors.New("too many requests"), 20*time.Millisecond)
			}
			return nil
		}
	}
	f.script.hooks(limit(2), limit(3))
	job := f.sync(auto())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 20, Added: 20})
	if job.Attempt < 4 || job.Retries != 0 || len(job.Warnings) != 0 {
		t.Errorf("the job is %+v", job)
	}
	if f.live() != 20 || f.model.embedded() != 20 {
		t.Error("waiting did work twice")
	}
}

func TestAWaitingJobIsNotAbandoned(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.worker.Stale = 1500 * time.Millisecond
	f.script.fill(1, "v1")
	var waited sync.Once
	f.script.hooks(func(context.Context, string) (err error) {
		waited.Do(func() { err = connectors.Retryable(errors.New("too many requests"), 3*time.Second) })
		return err
	}, nil)
	f.work()
	job := f.sync(auto())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 1, Added: 1})
	if job.Attempt != 2 {
		t.Errorf("the waiting job was taken over: attempt %d", job.Attempt)
	}
	if took := job.FinishedAt.Sub(*job.StartedAt); took < 2900*time.Millisecond {
		t.Errorf("the wait of the source was not kept: %s", took)
	}
}

func TestAnItemThatNeverAnswersFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Retries = 3
	f.work()
	f.script.fill(5, "v1")
	f.script.hooks(nil, failing(connectors.Retryable(errBroken, 0), "doc-0002.md"))
	job := f.sync(auto())
	f.expect(job, entjob.StatusPartial, syncjob.Counters{Collected: 5, Added: 4, Failed: 1})
	if !f.ledger()["doc-0002.md"].Retryable {
		t.Error("it is not retryable")
	}
	if n := f.script.opened(); n < 7 || n > 10 {
		t.Errorf("%d items were opened", n)
	}
}

func TestAFailingSourceIsRetriedUntilTheJobFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Retries = 3
	f.script.PageSize = 5
	f.work()
	f.script.fill(12, "v1")
	var failures atomic.Int64
	f.script.hooks(func(_ context.Context, cursor string) error {
		if cursor != "" && failures.Add(1) <= 2 {
			return errBroken
		}
		return nil
	}, nil)
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 12, Added: 12})

	f.script.set("new.md", "v1", "# New\n\nText.\n")
	f.script.remove("doc-0000.md")
	f.script.hooks(func(_ context.Context, cursor string) error {
		if cursor != "" {
			return errBroken
		}
		return nil
	}, nil)
	job := f.sync(auto())
	if job.Status != entjob.StatusFailed || job.Error == nil || *job.Error != errBroken.Error() || job.Retries != 3 || job.Cursor == "" || job.Unchanged != 5 {
		t.Errorf("the job is %+v", job)
	}
	row, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID)
	f.must(err)
	if row.Status != connector.StatusError || *row.LastError != errBroken.Error() {
		t.Errorf("the connector is %+v", row)
	}
	if f.live() != 12 {
		t.Error("an unfinished walk deleted documents")
	}
}

func TestErrorsThatEndAJob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		walking error
		opening error
		status  connector.Status
	}{
		{"no rights to list", connectors.NeedsAuth(errBroken), nil, connector.StatusNeedsAuth},
		{"no rights to read", nil, connectors.NeedsAuth(errBroken), connector.StatusNeedsAuth},
		{"fatal", connectors.Fatal(errBroken), nil, connector.StatusError},
		{"fatal when read", nil, connectors.Fatal(errBroken), connector.StatusError},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.work()
			f.script.fill(3, "v1")
			f.script.hooks(
				func(context.Context, string) error { return c.walking },
				func(context.Context, string) error { return c.opening },
			)
			job := f.sync(auto())
			row, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID)
			f.must(err)
			if job.Status != entjob.StatusFailed || *job.Error != errBroken.Error() || row.Status != c.status || job.Attempt != 1 {
				t.Errorf("the job is %+v, the connector %+v", job, row)
			}
			f.script.hooks(nil, nil)
			f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 3, Added: 3})
			if row, err = f.db.Ent.Connector.Get(f.ctx, f.row.ID); err != nil || row.Status != connector.StatusActive {
				t.Errorf("after a good sync the connector is %+v, %v", row, err)
			}
		})
	}
}

func TestASourceThatPanicsFailsAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Retries = 2
	f.work()
	f.script.fill(3, "v1")
	f.script.hooks(nil, func(_ context.Context, path string) error {
		if path == "doc-0001.md" {
			panic("about " + path)
		}
		return nil
	})
	f.expect(f.sync(auto()), entjob.StatusPartial, syncjob.Counters{Collected: 3, Added: 2, Failed: 1})
	f.script.hooks(func(context.Context, string) error { panic("no listing") }, nil)
	if job := f.sync(auto()); job.Status != entjob.StatusFailed || strings.Contains(*job.Error, "no listing") {
		t.Errorf("the job is %+v", job)
	}
}

// A modelError is an error of a model service.
type modelError struct {
	retryable bool
	after     time.Duration
}

func (modelError) Error() string               { return "text of the service with its secrets" }
func (r modelError) Retryable() bool           { return r.retryable }
func (r modelError) RetryAfter() time.Duration { return r.after }

func TestAnEmbeddingModelThatIsAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Retries = 2
	f.script.fill(3, "v1")
	f.model.fail(modelError{retryable: true, after: 10 * time.Millisecond})
	f.work()
	job := f.start(auto())
	news, err := f.jobs.Watch(f.ctx, job.ID)
	f.must(err)
	for s := range news {
		if s.Attempt >= 5 {
			break
		}
	}
	f.model.fail(nil)
	f.expect(f.wait(job.ID), entjob.StatusCompleted, syncjob.Counters{Collected: 3, Added: 3})
	f.script.fill(3, "v2")
	for reason, err := range map[string]error{
		"is not available": modelError{retryable: true},
		"refused":          modelError{},
		"scratch":          errBroken,
	} {
		f.model.fail(err)
		f.expect(f.sync(full()), entjob.StatusPartial, syncjob.Counters{Collected: 3, Failed: 3})
		f.expectEntry("doc-0000.md", syncitem.StatusFailed, reason)
		if strings.Contains(*f.ledger()["doc-0000.md"].Reason, "secrets") || f.live() != 3 {
			t.Error("the reason says too much, or the old versions are gone")
		}
	}
	f.model.fail(nil)
	f.expect(f.sync(full()), entjob.StatusCompleted, syncjob.Counters{Collected: 3, Modified: 3})
}

// A refusingIndex refuses some values, as the database may.
type refusingIndex struct{ *index.Store }

type refusal struct{}

func (refusal) Error() string    { return "invalid byte sequence" }
func (refusal) SQLState() string { return "22021" }

func (u refusingIndex) Put(ctx context.Context, scope viewer.Scope, fence index.Fence, r *index.Record) (index.Outcome, error) {
	if r.SourceID == "doc-0001.md" {
		return index.Outcome{}, fmt.Errorf("store: %w", refusal{})
	}
	return u.Store.Put(ctx, scope, fence, r)
}

func TestAnItemThatTheDatabaseRefusesFailsAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.substitute = refusingIndex{f.index}
	f.work()
	f.script.fill(3, "v1")
	f.expect(f.sync(auto()), entjob.StatusPartial, syncjob.Counters{Collected: 3, Added: 2, Failed: 1})
	f.expectEntry("doc-0001.md", syncitem.StatusFailed, "could not be stored")
}

func TestJobsThatMayNotRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.script.fill(3, "v1")
	disabled := f.start(auto())
	f.must(f.row.Update().SetEnabled(false).Exec(f.ctx))
	f.row = f.connector("nobody_knows", nil)
	unknown := f.start(auto())
	collection, err := f.db.Ent.Collection.Create().SetName("C").SetEmbeddingModel("forgotten").Save(f.ctx)
	f.must(err)
	f.row, err = f.db.Ent.Connector.Create().SetName("K").SetType("scripted").SetCollection(collection).Save(f.ctx)
	f.must(err)
	modelless := f.start(auto())
	f.row = f.connector("scripted", map[string]any{"filters": map[string]any{"include": 5}})
	unreadable := f.start(auto())
	f.row = f.connector("scripted", map[string]any{"bucket": "none of its options"})
	improper := f.start(auto())
	f.work()
	if job := f.wait(disabled.ID); job.Status != entjob.StatusCanceled || !strings.Contains(*job.Error, "disabled") {
		t.Errorf("a disabled connector: %+v", job)
	}
	for what, id := range map[string]uuid.UUID{"nobody_knows": unknown.ID, "forgotten": modelless.ID, "filters.include": unreadable.ID, "bucket": improper.ID} {
		if job := f.wait(id); job.Status != entjob.StatusFailed || !strings.Contains(*job.Error, what) {
			t.Errorf("%s: %+v", what, job)
		}
	}
}
