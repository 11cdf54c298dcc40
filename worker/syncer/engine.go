package syncer

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/pace"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Index is what the engine writes documents with (internal/index).
type Index interface {
	Put(ctx context.Context, scope viewer.Scope, f index.Fence, r *index.Record) (index.Outcome, error)
	Refresh(ctx context.Context, scope viewer.Scope, f index.Fence, r *index.Record) error
	SoftDelete(ctx context.Context, scope viewer.Scope, f index.Fence, documents []uuid.UUID) (int, error)
	Fail(ctx context.Context, scope viewer.Scope, f index.Fence, r *index.Record, reason string) (uuid.UUID, error)
	Forget(ctx context.Context, scope viewer.Scope, documents []uuid.UUID) (int, error)
	Restore(ctx context.Context, scope viewer.Scope, f index.Fence, documents []uuid.UUID) (int, error)
	SetReaders(ctx context.Context, scope viewer.Scope, f index.Fence, changes []index.DocumentReaders) (int, error)
	Restricted(ctx context.Context, scope viewer.Scope, connector uuid.UUID, unsaid bool, limit int) ([]uuid.UUID, error)
}

// Groups keeps who belongs to which group at the sources (principal.Store).
type Groups interface {
	Begin(ctx context.Context, scope viewer.Scope, connector uuid.UUID) (*principal.Reading, error)
	Hasten(ctx context.Context, d principal.Due, groups []string) error
	DueGroups(ctx context.Context, limit int) ([]principal.Due, error)
	DueReaders(ctx context.Context, age time.Duration, limit int) ([]principal.Due, error)
	BeginReaders(ctx context.Context, d principal.Due, revision int) error
	EndReaders(ctx context.Context, d principal.Due) error
}

// Grants give connectors the tokens of their OAuth grants (internal/connector/oauth).
type Grants interface {
	Source(workspace, grant uuid.UUID) func(ctx context.Context, refused string) (string, map[string]string, error)
}

// Notes keeps what sources remember (state.Store).
type Notes interface {
	Of(scope viewer.Scope, connector uuid.UUID) (*state.State, error)
}

// Options are settings with useful zero values.
type Options struct {
	SlicePages int           // pages of the source after which a slice ends: 200
	SliceTime  time.Duration // after which a slice ends with the items it is at: 30 s
	// ShareTime is after how long a slice ends when other jobs wait for a worker:
	// 5 s.
	ShareTime time.Duration
	Parallel  int   // items worked on at once: twice GOMAXPROCS
	MaxBytes  int64 // of an item's content: 32 MiB
	// FlightBytes bounds the content, in bytes, that all slices of the process
	// have fetched and not yet stored: 128 MiB, but room for one item at least.
	FlightBytes int64
	// Window is how long an auto sync leaves a document alone after it was
	// processed: 30 minutes. Negative means not at all.
	Window time.Duration
	// Retries is how often in a row a slice may end in a failure, without
	// progress, before the job fails: 6. Each waits twice as long as the one
	// before, the first RetryDelay: 1 s.
	Retries    int
	RetryDelay time.Duration
	Ingest     ingest.Options
	Grants     Grants // may be nil: no connector works with a grant
	Notes      Notes  // what sources remember; may be nil: nothing
	Told       Told   // what platforms tell while a job runs; may be nil: it waits
	Groups     Groups // may be nil: groups are not read, and grant nothing
	// ReadersEvery is how often the readers of all documents are read anew, where
	// permissions are enforced: 24 h.
	ReadersEvery time.Duration
	// Schemas keeps what is read of attached databases; nil: they cannot be synced.
	Schemas Schemas
	// Pacer gives the turns of platforms; may be nil: they are asked at will.
	Pacer *pace.Pacer
	Now   func() time.Time
	Log   *slog.Logger
}

const (
	defaultSlicePages = 200
	defaultSliceTime  = 30 * time.Second
	defaultShareTime  = 5 * time.Second
	defaultMaxBytes   = 32 << 20
	defaultFlight     = 128 << 20
	defaultWindow     = 30 * time.Minute
	defaultRetries    = 6
	maxRetryDelay     = time.Minute
	maxSourceDelay    = time.Hour
	concludeTime      = 15 * time.Second
)

func (o Options) withDefaults() Options {
	if o.SlicePages <= 0 {
		o.SlicePages = defaultSlicePages
	}
	if o.SliceTime <= 0 {
		o.SliceTime = defaultSliceTime
	}
	if o.ShareTime <= 0 {
		o.ShareTime = defaultShareTime
	}
	if o.FlightBytes <= 0 {
		o.FlightBytes = defaultFlight
	}
	if o.Parallel <= 0 {
		o.Parallel = 2 * runtime.GOMAXPROCS(0)
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Window == 0 {
		o.Window = defaultWindow
	}
	if o.Retries <= 0 {
		o.Retries = defaultRetries
	}
	if o.RetryDelay <= 0 {
		o.RetryDelay = time.Second
	}
	if o.ReadersEvery <= 0 {
		o.ReadersEvery = 24 * time.Hour
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Engine runs sync jobs. It is safe for concurrent use.
type Engine struct {
	client  *ent.Client
	jobs    *syncjob.Jobs
	kinds   *connectors.Registry
	secrets *secret.Box
	models  *embed.Registry
	index   Index
	parser  *parse.Parser
	flight  *flight
	opt     Options
}

// New makes an engine. Credentials of connectors are opened with secrets.
func New(client *ent.Client, jobs *syncjob.Jobs, kinds *connectors.Registry, secrets *secret.Box, models *embed.Registry, idx Index, parser *parse.Parser, o Options) *Engine {
	o = o.withDefaults()
	return &Engine{
		client: client, jobs: jobs, kinds: kinds, secrets: secrets, models: models, index: idx, parser: parser,
		flight: newFlight(max(o.FlightBytes, o.MaxBytes)), opt: o,
	}
}

// Sync does the next slice of the job whose turn it is, for which t holds the
// place, and ends the job or queues the slice after it. That no job waits is no error. When ctx ends, the slice stops
// at the next item and queues the rest. An error means that no job could be
// taken and the task is to be delivered again.
func (e *Engine) Sync(ctx context.Context, t queue.Sync) error {
	run, err := e.jobs.Next(ctx, t)
	switch {
	case errors.Is(err, syncjob.ErrStale):
		return nil
	case err != nil:
		return err
	}
	s := &slice{
		engine: e, run: run, job: jobOf(run), planning: run.Job().Mode == entjob.ModePlan,
		log: e.opt.Log.With("job", run.Job().ID, "connector", run.Job().ConnectorID),
	}
	held, release := run.Hold(run.Context(ctx))
	err = s.work(held)
	why := context.Cause(held)
	release()
	switch {
	case lost(err):
	case errors.Is(why, syncjob.ErrLost), errors.Is(why, syncjob.ErrCanceled), errors.Is(why, syncjob.ErrPaused):
		err = why
	case why != nil && (err == nil || interrupted(err)):
		err = errInterrupted
	}
	if err := s.conclude(ctx, err); err != nil {
		// The sweeper or the task that was queued meanwhile takes the job up
		// again; a repetition of this one could do nothing.
		s.log.ErrorContext(ctx, "the end of a slice of a sync job could not be saved", "error", err)
	}
	return nil
}

// conclude writes what becomes of the job after a slice, even when ctx is over.
func (s *slice) conclude(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), concludeTime)
	defer cancel()
	var stop *stopError
	var wait *waitError
	switch {
	case err == nil:
		if err := s.run.Complete(ctx); err != nil {
			return s.unsaved(ctx, err)
		}
		c := s.run.Counters()
		s.log.InfoContext(ctx, "sync finished", "collected", c.Collected, "added", c.Added, "modified", c.Modified,
			"deleted", c.Deleted, "unchanged", c.Unchanged, "skipped", c.Skipped, "failed", c.Failed)
		return nil
	case lost(err):
		s.log.InfoContext(ctx, "a sync job was taken over or deleted; this worker lets go of it")
		return nil
	case errors.Is(err, syncjob.ErrCanceled):
		return ignoreLost(s.run.Stop(ctx, ""))
	case errors.Is(err, syncjob.ErrPaused):
		return ignoreLost(s.run.Rest(ctx, s.retries()))
	case errors.As(err, &stop):
		if stop.canceled {
			return ignoreLost(s.run.Stop(ctx, stop.message))
		}
		s.log.WarnContext(ctx, "sync failed", "error", s.shown(err.Error()))
		return ignoreLost(s.run.Fail(ctx, s.shown(stop.message), stop.needsAuth))
	case errors.Is(err, errSliceOver):
		return ignoreLost(s.run.Release(ctx, 0, 0))
	case errors.Is(err, errInterrupted):
		return ignoreLost(s.run.Release(ctx, 0, s.retries()))
	case errors.As(err, &wait) && wait.hinted:
		s.log.InfoContext(ctx, "the source asks to wait", "delay", wait.delay)
		s.holdLine(ctx, wait)
		return ignoreLost(s.run.Release(ctx, min(wait.delay, maxSourceDelay), s.retries()))
	}
	retries := s.retries() + 1
	if retries > s.engine.opt.Retries {
		s.log.WarnContext(ctx, "sync failed", "retries", retries-1, "error", s.shown(err.Error()))
		return ignoreLost(s.run.Fail(ctx, s.shown(messageOf(err)), false))
	}
	delay := s.backoff(retries)
	s.log.WarnContext(ctx, "a slice of a sync job failed and is tried again", "retries", retries, "delay", delay, "error", s.shown(err.Error()))
	return ignoreLost(s.run.Release(ctx, delay, retries))
}

// unsaved gives a job whose end could not be written to the next slice.
func (s *slice) unsaved(ctx context.Context, err error) error {
	if lost(err) {
		return nil
	}
	return errors.Join(err, ignoreLost(s.run.Release(ctx, s.backoff(1), s.retries())))
}

// retries is how often the job failed in a row: not at all once there was
// progress.
func (s *slice) retries() int {
	if s.progress.Load() {
		return 0
	}
	return s.job.Retries
}

func (s *slice) backoff(retries int) time.Duration {
	return min(s.engine.opt.RetryDelay<<(min(retries, 10)-1), maxRetryDelay)
}

func ignoreLost(err error) error {
	if lost(err) {
		return nil
	}
	return err
}
