package syncjob_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

func codeOf(err error) apierr.Code {
	var e *apierr.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestStartQueuesOneJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	if job.Status != entjob.StatusQueued || job.Mode != entjob.ModeAuto || job.Cause != entjob.CauseManual || job.Attempt != 0 {
		t.Errorf("the job is %+v", job)
	}
	if got := f.queue.take(); len(got) != 1 || got[0] != (queue.Sync{JobID: job.ID}) {
		t.Errorf("enqueued %v", got)
	}
	again, err := f.jobs.Start(f.ctx, f.row.ID, syncjob.StartOptions{Mode: entjob.ModeFull})
	f.must(err)
	if again.ID != job.ID || len(f.queue.take()) != 0 {
		t.Error("a second job was started while one is open")
	}
}

func TestStartAppliesTheRulesOfModes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, c := range map[string]struct {
		options syncjob.StartOptions
		mode    entjob.Mode
		filter  []string
		field   string
	}{
		"auto":                       {options: syncjob.StartOptions{}, mode: entjob.ModeAuto},
		"auto with paths":            {options: syncjob.StartOptions{FileFilter: []string{"/a.md", "b.md", "a.md"}}, mode: entjob.ModeAuto, filter: []string{"a.md", "b.md"}},
		"full ignores paths":         {options: syncjob.StartOptions{Mode: entjob.ModeFull, FileFilter: []string{""}}, mode: entjob.ModeFull},
		"force wins":                 {options: syncjob.StartOptions{Mode: entjob.ModeIncremental, ForceFull: true}, mode: entjob.ModeFull},
		"incremental":                {options: syncjob.StartOptions{Mode: entjob.ModeIncremental, FileFilter: []string{"a.md"}}, mode: entjob.ModeIncremental, filter: []string{"a.md"}},
		"incremental without paths":  {options: syncjob.StartOptions{Mode: entjob.ModeIncremental}, field: "file_filter"},
		"incremental with no paths":  {options: syncjob.StartOptions{Mode: entjob.ModeIncremental, FileFilter: []string{}}, field: "file_filter"},
		"an empty path":              {options: syncjob.StartOptions{FileFilter: []string{"/"}}, field: "file_filter"},
		"a path that is no text":     {options: syncjob.StartOptions{FileFilter: []string{"a\xff"}}, field: "file_filter"},
		"a path with NUL":            {options: syncjob.StartOptions{FileFilter: []string{"a\x00"}}, field: "file_filter"},
		"a path that is too long":    {options: syncjob.StartOptions{FileFilter: []string{strings.Repeat("a", 1025)}}, field: "file_filter"},
		"too many paths":             {options: syncjob.StartOptions{FileFilter: make([]string, 10_001)}, field: "file_filter"},
		"a mode that does not exist": {options: syncjob.StartOptions{Mode: "SOMETIMES"}, field: "sync_mode"},
	} {
		row := f.connector()
		job, err := f.jobs.Start(f.ctx, row.ID, c.options)
		if c.field != "" {
			var e *apierr.Error
			if !errors.As(err, &e) || e.Code != apierr.InvalidRequest || e.Field != c.field {
				t.Errorf("%s: got %v", name, err)
			}
			continue
		}
		if err != nil || job.Mode != c.mode || !slices.Equal(job.FileFilter, c.filter) {
			t.Errorf("%s: got %v, %v", name, job, err)
		}
	}
}

func TestParseMode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]entjob.Mode{"": entjob.ModeAuto, "auto": entjob.ModeAuto, "full": entjob.ModeFull, "incremental": entjob.ModeIncremental, "FULL": entjob.ModeFull} {
		if got, err := syncjob.ParseMode(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"all", " full", "auto,full"} {
		if _, err := syncjob.ParseMode(text); codeOf(err) != apierr.InvalidRequest {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestStartRefusals(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, err := f.jobs.Start(f.ctx, uuid.New(), syncjob.StartOptions{}); codeOf(err) != apierr.CodeNotFound {
		t.Errorf("an unknown connector: %v", err)
	}
	if _, err := f.jobs.Start(f.other, f.row.ID, syncjob.StartOptions{}); codeOf(err) != apierr.CodeNotFound {
		t.Errorf("another workspace's connector: %v", err)
	}
	f.must(f.row.Update().SetEnabled(false).Exec(f.ctx))
	if _, err := f.jobs.Start(f.ctx, f.row.ID, syncjob.StartOptions{}); codeOf(err) != apierr.Conflict || !strings.Contains(err.Error(), "enable it") {
		t.Errorf("a disabled connector: %v", err)
	}
	if got := f.queue.take(); len(got) != 0 {
		t.Errorf("enqueued %v", got)
	}
}

func TestConcurrentStartsCreateOneJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const callers = 16
	ids := make([]uuid.UUID, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			ctx := f.ctx
			if i%2 == 0 { // half of them in a transaction, which must stay usable
				inside, tx, err := f.db.Ent.OpenTx(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				job, err := f.jobs.Start(inside, f.row.ID, syncjob.StartOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := ent.TxFromContext(inside).Collection.Create().SetName("D").SetEmbeddingModel("test").Save(inside); err != nil {
					t.Errorf("the transaction was spoiled: %v", err)
				}
				if err := tx.Commit(); err != nil {
					t.Error(err)
				}
				ids[i] = job.ID
				return
			}
			job, err := f.jobs.Start(ctx, f.row.ID, syncjob.StartOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = job.ID
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("two jobs: %s and %s", ids[0], id)
		}
	}
	if got := f.queue.take(); len(got) != 1 {
		t.Errorf("enqueued %v", got)
	}
}

func TestStartInATransactionEnqueuesAfterTheCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	inside, tx, err := f.db.Ent.OpenTx(f.ctx)
	f.must(err)
	_, err = f.jobs.Start(inside, f.row.ID, syncjob.StartOptions{})
	f.must(err)
	f.must(tx.Rollback())
	if got := f.queue.take(); len(got) != 0 {
		t.Fatalf("enqueued %v for a job that was rolled back", got)
	}
	inside, tx, err = f.db.Ent.OpenTx(f.ctx)
	f.must(err)
	job, err := f.jobs.Start(inside, f.row.ID, syncjob.StartOptions{})
	f.must(err)
	if got := f.queue.take(); len(got) != 0 {
		t.Fatalf("enqueued %v before the commit", got)
	}
	f.must(tx.Commit())
	if got := f.queue.take(); len(got) != 1 || got[0].JobID != job.ID {
		t.Fatalf("enqueued %v after the commit", got)
	}
}

func TestTheSweeperQueuesAJobThatStartCouldNotQueue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.queue.err = errAway
	job := f.start()
	f.clock.advance(minute)
	if _, err := f.jobs.Sweep(f.Context(), f.queue, 45*second); err == nil {
		t.Error("a sweep without a queue claims to have worked")
	}
	f.queue.err = nil
	if n, err := f.jobs.Sweep(f.Context(), f.queue, 45*second); err != nil || n != 1 {
		t.Fatalf("swept %d, %v", n, err)
	}
	if got := f.queue.take(); len(got) != 1 || got[0].JobID != job.ID || got[0].Attempt != f.job(job.ID).Attempt {
		t.Errorf("enqueued %v", got)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	if _, err := f.jobs.Cancel(f.other, job.ID); codeOf(err) != apierr.CodeNotFound {
		t.Errorf("by another workspace: %v", err)
	}
	canceled, err := f.jobs.Cancel(f.ctx, job.ID)
	f.must(err)
	if canceled.Status != entjob.StatusCanceled || canceled.FinishedAt == nil {
		t.Errorf("a queued job became %+v", canceled)
	}
	if _, err := f.jobs.Claim(f.Context(), queue.Sync{JobID: job.ID}); !errors.Is(err, syncjob.ErrStale) {
		t.Errorf("a canceled job was taken: %v", err)
	}
	again, err := f.jobs.Cancel(f.ctx, job.ID)
	f.must(err)
	if again.Status != entjob.StatusCanceled || again.Revision != canceled.Revision {
		t.Errorf("canceled again it became %+v", again)
	}

	job = f.start()
	run := f.claim(job)
	held, release := run.Hold(f.Context())
	asked, err := f.jobs.Cancel(f.ctx, job.ID)
	f.must(err)
	if asked.Status != entjob.StatusRunning || !asked.CancelRequested {
		t.Errorf("a running job became %+v", asked)
	}
	<-held.Done()
	if cause := context.Cause(held); !errors.Is(cause, syncjob.ErrCanceled) {
		t.Errorf("the worker stops because of %v", cause)
	}
	release()
	f.must(run.Stop(f.Context(), ""))
	if got := f.job(job.ID); got.Status != entjob.StatusCanceled || got.FinishedAt == nil {
		t.Errorf("the job ended as %+v", got)
	}
	if _, err := f.jobs.Start(f.ctx, f.row.ID, syncjob.StartOptions{}); err != nil {
		t.Errorf("after a canceled job: %v", err)
	}
}

func TestCancelIsNoticedWithoutRedis(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	run := f.claim(job)
	held, release := run.Hold(f.Context())
	defer release()
	// The update was lost: only the row has the request.
	f.must(f.db.Ent.SyncJob.UpdateOneID(job.ID).SetCancelRequested(true).Exec(f.ctx))
	<-held.Done()
	if cause := context.Cause(held); !errors.Is(cause, syncjob.ErrCanceled) {
		t.Errorf("the worker stops because of %v", cause)
	}
}

func TestViewersMayNotStartOrCancel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	reader := viewer.With(f.Context(), func() viewer.Viewer {
		v, _ := viewer.From(f.ctx)
		v.Role = viewer.RoleViewer
		return v
	}())
	if _, err := f.jobs.Start(reader, f.row.ID, syncjob.StartOptions{}); err == nil {
		t.Error("somebody who may only look started a sync")
	}
	job := f.start()
	if _, err := f.jobs.Cancel(reader, job.ID); err == nil {
		t.Error("somebody who may only look canceled a sync")
	}
}
