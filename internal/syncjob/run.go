package syncjob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

var (
	// ErrStale is returned by Claim for a task whose job has ended, is deleted, or
	// is held under a later attempt.
	ErrStale = errors.New("the task is stale")
	// ErrLost is returned if a job was taken over, or ended, while a worker worked
	// on it.
	ErrLost = errors.New("the sync job is held no longer")
	// ErrCanceled is returned if a job was asked to stop.
	ErrCanceled = errors.New("the sync job was asked to stop")
)

const (
	maxWarnings    = 100
	maxReasonBytes = 2000
)

// A Run is a job that a worker holds under an attempt. Everything that it writes
// names the attempt. Its methods may be called concurrently.
type Run struct {
	jobs                      *Jobs
	job, connector, workspace uuid.UUID
	attempt                   int
	scope                     viewer.Scope

	saving    sync.Mutex // orders writes of the row
	stored    Effort     // the last saved effort
	mu        sync.Mutex // guards the fields below
	state     Snapshot   // the next published snapshot
	published int        // the revision of the last published snapshot
	detached  bool       // the counters do not follow the ledger
	uncertain bool       // the counters may lack a change of the ledger
	effort    Effort
	lags      lags // not saved yet
	feed      *FeedPosition
	start     *ent.SyncJob
}

// Claim takes the job of a task, if its attempt is still that of the task, and
// increments the attempt. The job is running then. Its counters are those of the
// ledger, so that work is counted once even if several workers died over it.
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
	setClaimed(update, now)
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
	if r.ownsCounters() {
		counted = CountersOf(row)
	}
	// Items that were indexed after the last save of the counters had been parsed.
	counted.Parsed = row.Parsed + max(0, counted.Indexed-row.Indexed)
	r.state.Counters = counted
	r.state.Revision++ // a watcher may have read the row, with the counters that were saved
	j.publish(ctx, Event{Snapshot: r.state})
	return r, nil
}

// ownsCounters reports whether the job does not write the ledger and counts on its
// own.
func (r *Run) ownsCounters() bool { return r.start.Mode == entjob.ModePermissions }

func claimError(err error) error {
	if ent.IsNotFound(err) {
		return ErrStale
	}
	return fmt.Errorf("take a sync job: %w", err)
}

// Job returns the row as it was when the job was claimed.
func (r *Run) Job() *ent.SyncJob { return r.start }

// Attempt returns the attempt under which the job is held, which fences its writes.
func (r *Run) Attempt() int { return r.attempt }

// Scope returns the scope of the job's workspace.
func (r *Run) Scope() viewer.Scope { return r.scope }

// Context returns ctx for the system viewer of the job's workspace.
func (r *Run) Context(ctx context.Context) context.Context {
	return viewer.With(ctx, viewer.System(r.workspace))
}

// Counters returns the present counters.
func (r *Run) Counters() Counters {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Counters
}

// DetachCounters makes Count the only source of the counters, for a job without
// ledger entries.
func (r *Run) DetachCounters() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.detached = true
}

func (r *Run) countsItself() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.detached || r.ownsCounters()
}

// Count changes the counters. The ledger must have the counted outcomes already.
func (r *Run) Count(change func(*Counters)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.state.Counters)
	r.state.Revision++
}

// Warn adds a warning to the job, unless it has that already.
func (r *Run) Warn(text string) {
	text = storable(text)
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
	// Snapshots may share the old list.
	r.state.Warnings = append(slices.Clone(r.state.Warnings), text)
	r.state.Revision++
}

// Apply calls do, which changes documents, ledger entries and the counters of the
// job's row in one transaction, and then adds the number that do returns to the
// present counters. The row is not saved meanwhile. If do fails, its effect is read
// from the ledger before the next save.
func (r *Run) Apply(do func() (int, error), count func(*Counters, int)) (int, error) {
	r.saving.Lock()
	defer r.saving.Unlock()
	n, err := do()
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.uncertain = true // a failed commit may have succeeded
		return 0, err
	}
	r.Count(func(c *Counters) { count(c, n) })
	return n, nil
}

// recount reads the counters from the ledger.
func (r *Run) recount(ctx context.Context, client *ent.Client) error {
	if r.countsItself() {
		return nil
	}
	counted, err := r.tally(ctx, client)
	if err != nil {
		return err
	}
	r.Count(func(c *Counters) {
		counted.Parsed = c.Parsed
		*c = counted
		r.uncertain = false
	})
	return nil
}

// recountIfUncertain recounts if the effect of the last change is unknown.
func (r *Run) recountIfUncertain(ctx context.Context) error {
	r.mu.Lock()
	uncertain := r.uncertain
	r.mu.Unlock()
	if !uncertain {
		return nil
	}
	return r.recount(ctx, r.jobs.client)
}

func (r *Run) snapshot() Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// fenced returns an update of the row that succeeds only for the holder of the job.
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
		SetPages(e.Pages).SetBytesFetched(e.Bytes).SetRetried(e.Retried).
		SetAnnounced(r.Announced())
}

func (r *Run) save(ctx context.Context, what string, change func(*ent.SyncJobUpdate)) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	if err := r.recountIfUncertain(r.Context(ctx)); err != nil {
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

// SavePage saves the cursor at which the walk goes on, or that it is complete, and
// resets the retries.
func (r *Run) SavePage(ctx context.Context, cursor string, walked bool) error {
	return r.save(ctx, "save the progress of a sync job", func(u *ent.SyncJobUpdate) {
		u.SetCursor(cursor).SetWalked(walked).SetRetries(0).SetHeartbeatAt(r.jobs.now())
	})
}

// SaveIncomplete saves the containers that the source cannot list completely.
func (r *Run) SaveIncomplete(ctx context.Context, containers []string) error {
	return r.save(ctx, "save the containers that cannot be listed", func(u *ent.SyncJobUpdate) { u.SetIncomplete(containers) })
}

// Announce notes the number of items that the source says it has. The largest
// number counts.
func (r *Run) Announce(items int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if items > r.state.Announced {
		r.state.Announced = items
		r.state.Revision++
	}
}

// Announced returns the number of items that the source says it has, 0 if it does
// not say.
func (r *Run) Announced() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Announced
}

// Release gives the job back, for another slice after delay. retries is the number
// of releases in a row without progress. The task is queued even if the row cannot
// be written.
func (r *Run) Release(ctx context.Context, delay time.Duration, retries int) error {
	return r.release(ctx, delay, retries, waitsForRetry)
}

// ReleaseAtPace is Release with a delay that the platform asks for.
func (r *Run) ReleaseAtPace(ctx context.Context, delay time.Duration, retries int) error {
	return r.release(ctx, delay, retries, waitsForPace)
}

func (r *Run) release(ctx context.Context, delay time.Duration, retries int, waitsFor string) error {
	if retries > 0 || delay > 0 {
		r.AddEffort(func(e *Effort) { e.Retried++ })
	}
	err := r.save(ctx, "release a sync job", func(u *ent.SyncJobUpdate) {
		// A heartbeat in the future keeps the sweeper away from a waiting job.
		next := r.jobs.now().Add(delay)
		u.SetRetries(retries).SetHeartbeatAt(next).SetTurnAt(next).SetWaitsFor(waitsFor)
	})
	if errors.Is(err, ErrLost) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, enqueueLimit)
	defer cancel()
	if queueErr := r.jobs.queue.Enqueue(ctx, queue.Sync{JobID: r.job, Attempt: r.attempt, Delay: delay}); queueErr != nil {
		r.jobs.log.WarnContext(ctx, "sync job slice not queued, left to the sweeper", slog.Any("job", r.job), slog.Any("error", queueErr))
	}
	return err
}

// Hold keeps the job alive until release is called: it saves counters and
// heartbeats, publishes updates, and cancels the returned context if the job must
// stop. The cause is then ErrCanceled, ErrPaused, ErrLost, or that of ctx. release
// waits for the goroutine that Hold starts.
func (r *Run) Hold(ctx context.Context) (held context.Context, release func()) {
	held, stop := context.WithCancelCause(ctx)
	updates := r.jobs.bus.Subscribe(r.job)
	var done sync.WaitGroup
	done.Go(func() {
		defer updates.Close()
		r.watchHold(held, stop, updates)
	})
	return held, func() {
		stop(nil)
		done.Wait()
	}
}

func (r *Run) watchHold(ctx context.Context, stop context.CancelCauseFunc, updates Subscription) {
	progress := time.NewTicker(r.jobs.times.Progress)
	defer progress.Stop()
	heartbeat := time.NewTicker(r.jobs.times.Heartbeat)
	defer heartbeat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-updates.Updates():
			switch s, _ := updates.Latest(); {
			case s.Canceling:
				stop(ErrCanceled)
			case s.Pausing:
				stop(ErrPaused)
			}
		case <-progress.C:
			r.publishProgress(ctx)
			r.saveEffort(ctx)
		case <-heartbeat.C:
			switch err := r.sendHeartbeat(ctx); {
			case err == nil, ctx.Err() != nil:
			case errors.Is(err, ErrLost), errors.Is(err, ErrCanceled), errors.Is(err, ErrPaused):
				stop(err)
			default:
				// The row decides whether another worker takes the job over.
				r.jobs.log.WarnContext(ctx, "sync job heartbeat not saved", slog.Any("job", r.job), slog.Any("error", err))
			}
		}
	}
}

// publishProgress publishes the counters if they have changed.
func (r *Run) publishProgress(ctx context.Context) {
	s := r.snapshot()
	if s.Revision == r.published {
		return
	}
	r.published = s.Revision
	r.jobs.publish(ctx, Event{Snapshot: s})
}

func (r *Run) sendHeartbeat(ctx context.Context) error {
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
	if suspended, err := r.paused(ctx); err != nil || suspended {
		return cmp.Or(err, ErrPaused)
	}
	return nil
}

// storable returns a reason or warning as the database accepts it.
func storable(text string) string {
	return safetext.TruncateBytes(safetext.Storable(text), maxReasonBytes)
}
