package syncjob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/viewer"
)

var (
	// ErrStale is returned by Claim for a task that has nothing to do any more:
	// its job is over, gone, or held under a later attempt.
	ErrStale = errors.New("the task is stale")
	// ErrLost says that a job was taken over, or ended, under its worker.
	ErrLost = errors.New("the sync job is held no longer")
	// ErrCanceled says that a job was asked to stop.
	ErrCanceled = errors.New("the sync job was asked to stop")
)

const (
	maxWarnings    = 100
	maxReasonBytes = 2000
)

// Run is a job in the hands of one worker, under one attempt. Everything it
// writes names the attempt. Its methods may be called concurrently.
type Run struct {
	jobs                      *Jobs
	job, connector, workspace uuid.UUID
	attempt                   int
	scope                     viewer.Scope

	saving sync.Mutex // orders the writes of the row
	stored Effort     // by saveEffort
	mu     sync.Mutex // guards what follows
	state  Snapshot   // what the world is told next
	told   int        // the revision that was published last
	own    bool       // it counts for itself
	unsure bool       // the counters may lack what the ledger has
	effort Effort
	lags   lags // that are not stored yet
	start  *ent.SyncJob
}

// Claim takes the job that t names, if its attempt is still the one of the task,
// and raises the attempt. The job is running then. Its counters are those of
// the ledger, so that work is counted once however often workers died over it.
func (j *Jobs) Claim(ctx context.Context, t queue.Sync) (*Run, error) {
	ctx = viewer.With(ctx, viewer.System(uuid.Nil))
	now := j.now()
	row, err := j.client.SyncJob.Get(ctx, t.JobID)
	if err != nil {
		return nil, claimError(err)
	}
	update := row.Update().
		Where(entjob.Attempt(t.Attempt), entjob.StatusIn(openStatuses()...)).
		SetStatus(entjob.StatusRunning).
		SetAttempt(t.Attempt + 1).
		SetHeartbeatAt(now).
		SetUpdatedAt(now).
		AddRevision(1)
	taken(update, now)
	if row.StartedAt == nil {
		update.SetStartedAt(now)
	}
	if row, err = update.Save(ctx); err != nil {
		return nil, claimError(err)
	}
	r := &Run{
		jobs: j, job: row.ID, connector: row.ConnectorID, workspace: row.WorkspaceID, attempt: row.Attempt, start: row,
		state: SnapshotOf(row), effort: effortOf(row), stored: effortOf(row), lags: make(lags),
	}
	if r.scope, err = viewer.System(row.WorkspaceID).Scope(); err != nil {
		return nil, fmt.Errorf("take a sync job: %w", err)
	}
	counted, err := r.tally(ctx, j.client)
	if err != nil {
		return nil, err
	}
	if r.apart() {
		counted = CountersOf(row)
	}
	// What was indexed after the counters were last saved had been parsed too.
	counted.Parsed = row.Parsed + max(0, counted.Indexed-row.Indexed)
	r.state.Counters = counted
	j.publish(ctx, Event{Snapshot: r.state})
	return r, nil
}

// apart reports whether the job leaves the ledger alone, and so counts for itself.
func (r *Run) apart() bool { return r.start.Mode == entjob.ModePermissions }

func claimError(err error) error {
	if ent.IsNotFound(err) {
		return ErrStale
	}
	return fmt.Errorf("take a sync job: %w", err)
}

// Job is the row as it was when the job was taken.
func (r *Run) Job() *ent.SyncJob { return r.start }

// Attempt is the one under which the job is held: the fence of its writes.
func (r *Run) Attempt() int { return r.attempt }

// Scope reaches the job's workspace.
func (r *Run) Scope() viewer.Scope { return r.scope }

// Context returns ctx for the system viewer of the job's workspace.
func (r *Run) Context(ctx context.Context) context.Context {
	return viewer.With(ctx, viewer.System(r.workspace))
}

// Counters are the present ones.
func (r *Run) Counters() Counters {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Counters
}

// CountApart makes the counters the job's own, for one that has no items: Count
// alone changes them then.
func (r *Run) CountApart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own = true
}

func (r *Run) counts() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.own || r.apart()
}

// Count changes the counters. The outcomes that it counts must be in the ledger
// already.
func (r *Run) Count(change func(*Counters)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.state.Counters)
	r.state.Revision++
}

// Warn adds a warning to the job, once.
func (r *Run) Warn(text string) {
	text = cut(text, maxReasonBytes)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case slices.Contains(r.state.Warnings, text):
		return
	case len(r.state.Warnings) == maxWarnings-1:
		text = "There were more warnings than are kept."
	case len(r.state.Warnings) >= maxWarnings:
		return
	}
	// The old list may have been handed out with a snapshot.
	r.state.Warnings = append(slices.Clone(r.state.Warnings), text)
	r.state.Revision++
}

// Settle does what changes documents, their lines in the ledger and the counters
// in the job's row in one transaction, and then has count add to the present
// counters what do says it did. The row is not saved meanwhile. When do fails,
// what it did is found out from the ledger before the row is saved again.
func (r *Run) Settle(do func() (int, error), count func(*Counters, int)) (int, error) {
	r.saving.Lock()
	defer r.saving.Unlock()
	n, err := do()
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.unsure = true // the answer to a commit may have been lost
		return 0, err
	}
	r.Count(func(c *Counters) { count(c, n) })
	return n, nil
}

// recount takes the counters from the ledger, whose lines of the job nobody else
// writes meanwhile.
func (r *Run) recount(ctx context.Context, client *ent.Client) error {
	if r.counts() {
		return nil
	}
	counted, err := r.tally(ctx, client)
	if err != nil {
		return err
	}
	r.Count(func(c *Counters) {
		counted.Parsed = c.Parsed
		*c = counted
		r.unsure = false
	})
	return nil
}

// recountUnsure is recount where the last change may have been counted or not.
func (r *Run) recountUnsure(ctx context.Context) error {
	r.mu.Lock()
	unsure := r.unsure
	r.mu.Unlock()
	if !unsure {
		return nil
	}
	return r.recount(ctx, r.jobs.client)
}

func (r *Run) snapshot() Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// fenced starts an update of the row that only the holder of the job may do.
func (r *Run) fenced(client *ent.Client, s Snapshot) *ent.SyncJobUpdate {
	c, e := s.Counters, r.Effort()
	return client.SyncJob.Update().
		Where(entjob.ID(r.job), entjob.Attempt(r.attempt), entjob.StatusEQ(entjob.StatusRunning)).
		SetUpdatedAt(r.jobs.now()).
		SetRevision(s.Revision).
		SetWarnings(s.Warnings).
		SetCollected(c.Collected).SetParsed(c.Parsed).SetIndexed(c.Indexed).
		SetAdded(c.Added).SetModified(c.Modified).SetDeleted(c.Deleted).
		SetUnchanged(c.Unchanged).SetSkipped(c.Skipped).SetFailed(c.Failed).
		SetPages(e.Pages).SetBytesFetched(e.Bytes).SetRetried(e.Retried)
}

func (r *Run) save(ctx context.Context, what string, change func(*ent.SyncJobUpdate)) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	if err := r.recountUnsure(r.Context(ctx)); err != nil {
		return err
	}
	r.saveLags(ctx)
	update := r.fenced(r.jobs.client, r.snapshot())
	change(update)
	n, err := update.Save(r.Context(ctx))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case n == 0:
		return ErrLost
	}
	return nil
}

// SavePage notes that the walk goes on at cursor, or that it is complete, and
// that there was progress.
func (r *Run) SavePage(ctx context.Context, cursor string, walked bool) error {
	return r.save(ctx, "save the progress of a sync job", func(u *ent.SyncJobUpdate) {
		u.SetCursor(cursor).SetWalked(walked).SetRetries(0).SetHeartbeatAt(r.jobs.now())
	})
}

// Release lets go of the job until delay has passed, when another slice takes
// it. retries is how often in a row it was let go without progress. The task is
// queued even if the row cannot be written at the moment.
func (r *Run) Release(ctx context.Context, delay time.Duration, retries int) error {
	if retries > 0 || delay > 0 {
		r.Spend(func(e *Effort) { e.Retried++ })
	}
	err := r.save(ctx, "let go of a sync job", func(u *ent.SyncJobUpdate) {
		// The sweeper is not to take a waiting job for a dead one.
		next := r.jobs.now().Add(delay)
		u.SetRetries(retries).SetHeartbeatAt(next).SetTurnAt(next)
	})
	if errors.Is(err, ErrLost) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, enqueueLimit)
	defer cancel()
	if queueErr := r.jobs.queue.Enqueue(ctx, queue.Sync{JobID: r.job, Attempt: r.attempt, Delay: delay}); queueErr != nil {
		r.jobs.log.WarnContext(ctx, "the next slice of a sync job could not be put into the queue; the sweeper will", "job", r.job, "error", queueErr)
	}
	return err
}

// Hold keeps the job alive until release is called: it saves counters and
// heartbeat, tells the bus, and ends the context that it returns when the job
// is to stop. context.Cause of it is then ErrCanceled, ErrPaused, ErrLost, or the
// cause of ctx. release waits for what Hold started.
func (r *Run) Hold(ctx context.Context) (held context.Context, release func()) {
	held, stop := context.WithCancelCause(ctx)
	news := r.jobs.bus.Subscribe(r.job)
	var done sync.WaitGroup
	done.Go(func() {
		defer news.Close()
		r.keep(held, stop, news)
	})
	return held, func() {
		stop(nil)
		done.Wait()
	}
}

func (r *Run) keep(ctx context.Context, stop context.CancelCauseFunc, news Subscription) {
	progress := time.NewTicker(r.jobs.times.Progress)
	defer progress.Stop()
	heartbeat := time.NewTicker(r.jobs.times.Heartbeat)
	defer heartbeat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-news.News():
			switch s, _ := news.Latest(); {
			case s.Canceling:
				stop(ErrCanceled)
			case s.Pausing:
				stop(ErrPaused)
			}
		case <-progress.C:
			r.tell(ctx)
			r.saveEffort(ctx)
		case <-heartbeat.C:
			switch err := r.beat(ctx); {
			case err == nil, ctx.Err() != nil:
			case errors.Is(err, ErrLost), errors.Is(err, ErrCanceled), errors.Is(err, ErrPaused):
				stop(err)
			default:
				// Whether somebody takes the job over is decided by the row.
				r.jobs.log.WarnContext(ctx, "the heartbeat of a sync job could not be saved", "job", r.job, "error", err)
			}
		}
	}
}

// tell publishes the counters if they have changed.
func (r *Run) tell(ctx context.Context) {
	s := r.snapshot()
	if s.Revision == r.told {
		return
	}
	r.told = s.Revision
	r.jobs.publish(ctx, Event{Snapshot: s})
}

func (r *Run) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.jobs.times.Heartbeat)
	defer cancel()
	if err := r.save(ctx, "save a heartbeat", func(u *ent.SyncJobUpdate) { u.SetHeartbeatAt(r.jobs.now()) }); err != nil {
		return err
	}
	asked, err := r.jobs.client.SyncJob.Query().Where(entjob.ID(r.job), entjob.CancelRequested(true)).Exist(r.Context(ctx))
	switch {
	case err != nil:
		return fmt.Errorf("read whether a sync job is to stop: %w", err)
	case asked:
		return ErrCanceled
	}
	if resting, err := r.paused(ctx); err != nil || resting {
		return cmp.Or(err, ErrPaused)
	}
	return nil
}

// cut shortens a text to at most max bytes, at a rune's border, and makes it storable.
func cut(text string, max int) string {
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", " ")
	}
	if len(text) <= max {
		return text
	}
	for max > 0 && !utf8.RuneStart(text[max]) {
		max--
	}
	return text[:max]
}
