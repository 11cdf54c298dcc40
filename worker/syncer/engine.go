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
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/connector/throttle"
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

// An Index stores documents (internal/index).
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

// Groups stores the members of groups at the sources (principal.Store).
type Groups interface {
	Begin(ctx context.Context, scope viewer.Scope, connector uuid.UUID) (*principal.Reading, error)
	ExpediteGroups(ctx context.Context, d principal.ConnectorKey, groups []string) error
	DueGroups(ctx context.Context, limit int) ([]principal.ConnectorKey, error)
	DueReaders(ctx context.Context, age time.Duration, limit int) ([]principal.ConnectorKey, error)
	BeginReaders(ctx context.Context, d principal.ConnectorKey, revision int) error
	FinishReaders(ctx context.Context, d principal.ConnectorKey) error
}

// Grants provides the tokens of OAuth grants (internal/connector/oauth).
type Grants interface {
	TokenSource(workspace, grant uuid.UUID) func(ctx context.Context, refused string) (string, map[string]string, error)
}

// States stores the state of sources (state.Store).
type States interface {
	Of(scope viewer.Scope, connector uuid.UUID) (*state.State, error)
}

// Options has useful zero values. Defaults are in the comments.
type Options struct {
	SlicePages int           // pages of a slice: 200
	SliceTime  time.Duration // of a slice: 30 s
	ShareTime  time.Duration // of a slice while other jobs wait for a worker: 5 s
	Parallel   int           // items that are fetched and processed at a time: twice GOMAXPROCS
	MaxBytes   int64         // of an item's content: 32 MiB
	// FlightBytes bounds the content that all slices of the process have fetched
	// and not yet stored: 128 MiB, and at least one item.
	FlightBytes int64
	// Window is the time after the processing of a document in which an auto sync
	// does not process it again: 30 minutes. A negative value is no time.
	Window time.Duration
	// Retries is the number of consecutive slices without progress that may fail
	// before the job fails: 6. RetryDelay is the backoff before the first retry,
	// which doubles: 1 s.
	Retries    int
	RetryDelay time.Duration
	// ReadersEvery is the time between two refreshes of the readers of all documents
	// of a connector that enforces permissions: 24 h.
	ReadersEvery time.Duration
	Ingest       ingest.Options

	// Each of these may be nil, in which case syncs do not have the ability.
	Grants     Grants
	States     States
	Deliveries Deliveries
	Groups     Groups
	Schemas    Schemas
	Limiters   *throttle.Limiters

	Now func() time.Time
	Log *slog.Logger
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
	finishTimeout     = 15 * time.Second
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

// An Engine runs sync jobs. It is safe for concurrent use.
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

// New returns an engine. It opens the credentials of connectors with secrets.
func New(client *ent.Client, jobs *syncjob.Jobs, kinds *connectors.Registry, secrets *secret.Box, models *embed.Registry, idx Index, parser *parse.Parser, o Options) *Engine {
	o = o.withDefaults()
	return &Engine{
		client: client, jobs: jobs, kinds: kinds, secrets: secrets, models: models, index: idx, parser: parser,
		flight: newFlight(max(o.FlightBytes, o.MaxBytes)), opt: o,
	}
}

// Sync does the next slice of the job whose turn it is, and ends the job or queues
// its next slice. The task t is a place at a worker; it is not an error when no job
// waits. When ctx ends, the slice stops at the next item and queues the rest. An
// error means that no job could be claimed; the queue then delivers the task again.
func (e *Engine) Sync(ctx context.Context, t queue.Sync) error {
	run, err := e.jobs.Next(ctx, t)
	switch {
	case errors.Is(err, syncjob.ErrStale):
		return nil
	case err != nil:
		return err
	}
	s := &slice{
		engine: e, run: run, job: jobOf(run), isPlan: run.Job().Mode == entjob.ModePlan,
		log: e.opt.Log.With(slog.Any("job", run.Job().ID), slog.Any("connector", run.Job().ConnectorID)),
	}
	ctx, span := s.begin(ctx, t)
	runCtx, release := run.Hold(run.Context(ctx))
	err = s.work(runCtx)
	cause := context.Cause(runCtx)
	release()
	switch {
	case isLost(err):
	case errors.Is(cause, syncjob.ErrLost), errors.Is(cause, syncjob.ErrCanceled), errors.Is(cause, syncjob.ErrPaused):
		err = cause
	case cause != nil && (err == nil || isInterruption(err)):
		err = errInterrupted
	}
	defer func() { s.end(span, err) }()
	if err := s.finish(ctx, err); err != nil {
		// A repetition of this task could not continue the job. The sweeper or a
		// task that is queued already does.
		s.log.ErrorContext(ctx, "sync slice not saved", slog.Any("error", err))
	}
	return nil
}

// finish completes, fails, pauses or requeues the job after a slice that returned
// err. It also works after the end of ctx.
func (s *slice) finish(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	var stop *stopError
	var wait *waitError
	switch {
	case err == nil:
		if err := s.run.Complete(ctx); err != nil {
			return s.releaseUnsaved(ctx, err)
		}
		c := s.run.Counters()
		s.log.InfoContext(ctx, "sync finished", slog.Int("collected", c.Collected), slog.Int("added", c.Added), slog.Int("modified", c.Modified),
			slog.Int("deleted", c.Deleted), slog.Int("unchanged", c.Unchanged), slog.Int("skipped", c.Skipped), slog.Int("failed", c.Failed))
		return nil
	case isLost(err):
		s.log.InfoContext(ctx, "sync job lost to another worker or deleted")
		return nil
	case errors.Is(err, syncjob.ErrCanceled):
		return ignoreLost(s.run.Stop(ctx, ""))
	case errors.Is(err, syncjob.ErrPaused):
		return ignoreLost(s.run.Suspend(ctx, s.retries()))
	case errors.As(err, &stop):
		if stop.canceled {
			return ignoreLost(s.run.Stop(ctx, stop.message))
		}
		s.log.WarnContext(ctx, "sync failed", slog.String("error", s.redact(err.Error())))
		return ignoreLost(s.run.Fail(ctx, s.redact(stop.message), stop.needsAuth))
	case errors.Is(err, errSliceDone):
		return ignoreLost(s.run.Release(ctx, 0, 0))
	case errors.Is(err, errInterrupted):
		return ignoreLost(s.run.Release(ctx, 0, s.retries()))
	case errors.As(err, &wait) && wait.hinted:
		s.log.InfoContext(ctx, "source asks to wait", slog.Duration("delay", wait.delay))
		s.pauseLimiter(ctx, wait)
		return ignoreLost(s.run.ReleaseAtPace(ctx, min(wait.delay, maxSourceDelay), s.retries()))
	}
	retries := s.retries() + 1
	if retries > s.engine.opt.Retries {
		s.log.WarnContext(ctx, "sync failed", slog.Int("retries", retries-1), slog.String("error", s.redact(err.Error())))
		return ignoreLost(s.run.Fail(ctx, s.redact(messageOf(err)), false))
	}
	delay := s.backoff(retries)
	s.log.WarnContext(ctx, "sync slice failed, will retry", slog.Int("retries", retries), slog.Duration("delay", delay), slog.String("error", s.redact(err.Error())))
	return ignoreLost(s.run.Release(ctx, delay, retries))
}

// releaseUnsaved requeues a job whose completion could not be saved.
func (s *slice) releaseUnsaved(ctx context.Context, err error) error {
	if isLost(err) {
		return nil
	}
	return errors.Join(err, ignoreLost(s.run.Release(ctx, s.backoff(1), s.retries())))
}

// retries returns the number of consecutive failures of the job. Progress in this
// slice resets it.
func (s *slice) retries() int {
	if s.progress.Load() {
		return 0
	}
	return s.job.Retries
}

// backoff returns the time to the next retry.
func (s *slice) backoff(retries int) time.Duration {
	return min(s.engine.opt.RetryDelay<<(min(retries, 10)-1), maxRetryDelay)
}

func ignoreLost(err error) error {
	if isLost(err) {
		return nil
	}
	return err
}
