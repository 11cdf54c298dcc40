package project

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/viewer"
)

// An Index has the changes of collections, and keeps how far they are projected
// (internal/index).
type Index interface {
	Instance(ctx context.Context) (index.Instance, error)
	ProjectionWork(ctx context.Context) ([]index.ProjectionWork, error)
	ProjectionClasses(ctx context.Context) (map[string]bool, error)
	AddProjection(ctx context.Context, scope viewer.Scope, p *index.Projection, lease time.Duration) error
	ClaimProjection(ctx context.Context, scope viewer.Scope, collection uuid.UUID, lease time.Duration) (*index.Projection, error)
	SaveProjection(ctx context.Context, scope viewer.Scope, p *index.Projection, lease time.Duration) error
	RemoveProjection(ctx context.Context, scope viewer.Scope, p *index.Projection) error
	ChangePage(ctx context.Context, scope viewer.Scope, collection uuid.UUID, page index.ChangePage, r index.ChangeReader) (index.PageEnd, error)
	Entries(ctx context.Context, scope viewer.Scope, collection uuid.UUID, documents []uuid.UUID, bare bool, r index.ChangeReader) error
	SampleDocuments(ctx context.Context, scope viewer.Scope, collection uuid.UUID, change int64, starts []uuid.UUID, each int) ([]uuid.UUID, error)
}

// Options has useful zero values. Defaults are in the comments.
type Options struct {
	// Dimensions returns the length of a model's vectors, 0 if the model is not configured;
	// nil for none.
	Dimensions func(model string) int
	// MaxReplicas is the most replicas of each shard: 2. An engine of fewer nodes has fewer.
	MaxReplicas int
	BatchBytes  int // of the objects of one call: 4 MiB
	Documents   int // in a page: 256
	Passages    int // in a page, about: 2000
	// MaxRefused is the most documents of a collection of which the engine may refuse an object:
	// 1000. Searches keep them in memory. With more of them the collection fails.
	MaxRefused int
	// Slice is the time after which another collection has its turn: 10 seconds.
	Slice time.Duration
	// Lease is the time for which a projection belongs to a process that does not renew it: 1
	// minute.
	Lease time.Duration
	// CallTimeout bounds a call of the engine: a third of Lease.
	CallTimeout time.Duration
	// SweepEvery is the time between searches for classes to drop, and CheckEvery between
	// looks at whether the replicas still have their objects: 1 minute.
	SweepEvery, CheckEvery time.Duration
	Parallel               int // collections at a time: 2
	Now                    func() time.Time
	Log                    *slog.Logger
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&o.Slice, 10 * time.Second}, {&o.Lease, time.Minute}, {&o.SweepEvery, time.Minute}, {&o.CheckEvery, time.Minute}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	for _, d := range []struct {
		field *int
		value int
	}{{&o.MaxReplicas, 2}, {&o.BatchBytes, 4 << 20}, {&o.Documents, 256}, {&o.Passages, 2000}, {&o.MaxRefused, 1000}, {&o.Parallel, 2}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = o.Lease / 3
	}
	if o.Dimensions == nil {
		o.Dimensions = func(string) int { return 0 }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// A Projector projects collections into an engine. Any number of processes may have one.
type Projector struct {
	index   Index
	backend engine.Backend
	opt     Options

	objects atomic.Int64
	away    atomic.Bool // the engine could not be reached at the last try

	mu      sync.Mutex
	sweptAt time.Time
	waits   map[uuid.UUID]wait // for replicas
}

// A wait is the pause until the replicas of a collection are asked again.
type wait struct {
	until time.Time
	tries int
}

// New returns a projector.
func New(idx Index, backend engine.Backend, o Options) *Projector {
	return &Projector{index: idx, backend: backend, opt: o.withDefaults(), waits: map[uuid.UUID]wait{}}
}

// Objects returns the number of objects that this projector has sent.
func (p *Projector) Objects() int64 { return p.objects.Load() }

// Tick works once on each collection that has something to do, for a limited time. A failure
// of the engine is not an error: it is logged, stored with the projection, and tried
// again later.
func (p *Projector) Tick(ctx context.Context) error {
	instance, err := p.index.Instance(ctx)
	if err != nil {
		return fmt.Errorf("project collections: %w", err)
	}
	work, err := p.index.ProjectionWork(ctx)
	if err != nil {
		return fmt.Errorf("project collections: %w", err)
	}
	var running sync.WaitGroup
	var mu sync.Mutex
	var failures []error
	places := make(chan struct{}, p.opt.Parallel)
	for i := range work {
		w := &work[i]
		if !w.Due || !p.isOpen(w, instance) {
			continue
		}
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			if err := p.project(ctx, instance, w); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failures = append(failures, fmt.Errorf("project collection %s: %w", w.Collection, err))
			}
		})
	}
	running.Wait()
	if err := p.sweep(ctx, instance); err != nil {
		failures = append(failures, fmt.Errorf("project collections: %w", err))
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the next process goes on
	}
	return errors.Join(failures...)
}

// isOpen reports whether there is something to do.
func (p *Projector) isOpen(w *index.ProjectionWork, instance index.Instance) bool {
	row := w.Projection
	switch {
	case row == nil || !w.Wanted || row.State == index.ProjectionFailed || row.Failures > 0:
		return true
	case !p.fits(row, w, instance) || row.Written.Change < w.Change || row.Written.Document != uuid.Nil:
		return true
	case row.Confirmed != row.Written:
		return !p.isWaiting(row.Collection)
	default:
		return row.State != index.ProjectionReady || row.IsBehind || row.CheckedAgo >= p.opt.CheckEvery
	}
}

// fits reports whether the class of a projection is of the collection's present model and
// changes.
func (p *Projector) fits(row *index.Projection, w *index.ProjectionWork, instance index.Instance) bool {
	// A process that does not have the model configured leaves its length to others.
	dimensions := p.opt.Dimensions(w.Model)
	return row.IndexGeneration == w.Generation && row.Model == w.Model && (dimensions == 0 || row.Dimensions == dimensions) &&
		row.History == instance.History && isOwn(row.Class, instance)
}

// project works on one collection.
func (p *Projector) project(ctx context.Context, instance index.Instance, w *index.ProjectionWork) error {
	scope, err := viewer.System(w.Workspace).Scope()
	if err != nil {
		return err
	}
	if scope, err = scope.Narrow(w.Collection); err != nil {
		return err
	}
	s := &slice{Projector: p, instance: instance, work: w, scope: scope, log: p.opt.Log.With(slog.Any("collection", w.Collection)), start: p.opt.Now()}
	err = s.claim(ctx)
	if err == nil {
		if w.Wanted {
			err = s.run(ctx)
		} else {
			err = s.remove(ctx)
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, index.ErrProjectionHeld):
		return nil // another process goes on
	case errors.Is(err, viewer.ErrOutOfScope), ctx.Err() != nil: // without the collection, the sweep drops the class
		return s.release(ctx)
	default:
		return s.fail(ctx, err)
	}
}

// classOf returns the name of a class.
func classOf(instance index.Instance, collection uuid.UUID, generation int64) string {
	return fmt.Sprintf("%s%s_%d", prefixOf(instance), hex.EncodeToString(collection[:]), generation)
}

// prefixOf returns the beginning of the names of all classes of the installation.
func prefixOf(instance index.Instance) string { return "M" + instance.Name }

// isOwn reports whether a class belongs to the installation.
func isOwn(class string, instance index.Instance) bool {
	prefix := prefixOf(instance)
	return len(class) > len(prefix)+2*len(uuid.UUID{}) && class[:len(prefix)] == prefix && class[len(prefix)+2*len(uuid.UUID{})] == '_'
}

// sweep drops the classes of the installation that no projection names.
func (p *Projector) sweep(ctx context.Context, instance index.Instance) error {
	p.mu.Lock()
	due := p.opt.Now().Sub(p.sweptAt) >= p.opt.SweepEvery
	if due {
		p.sweptAt = p.opt.Now()
	}
	p.mu.Unlock()
	if !due || ctx.Err() != nil {
		return nil
	}
	// Projections are stored before their classes are created. So one that is listed here has
	// its row below, unless it is an orphan.
	call, cancel := context.WithTimeout(ctx, p.opt.CallTimeout)
	defer cancel()
	classes, err := p.backend.Classes(call, prefixOf(instance))
	if err != nil {
		p.noteAway(ctx, err)
		return nil
	}
	p.noteAway(ctx, nil)
	used, err := p.index.ProjectionClasses(ctx)
	if err != nil {
		return err
	}
	for _, class := range classes {
		if used[class] || !isOwn(class, instance) {
			continue
		}
		if err := p.drop(ctx, class); err != nil {
			p.noteAway(ctx, err)
			return nil
		}
		p.opt.Log.InfoContext(ctx, "unused class of the search engine dropped", slog.String("class", class))
	}
	return nil
}

func (p *Projector) drop(ctx context.Context, class string) error {
	ctx, cancel := context.WithTimeout(ctx, p.opt.CallTimeout)
	defer cancel()
	return p.backend.Drop(ctx, class)
}

// noteAway logs that the engine cannot be reached, and that it can be again, once each.
func (p *Projector) noteAway(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		if !p.away.Swap(true) {
			p.opt.Log.WarnContext(ctx, "search engine cannot be used, collections are not projected", slog.Any("error", err))
		}
		return
	}
	if p.away.Swap(false) {
		p.opt.Log.InfoContext(ctx, "search engine can be used again")
	}
}

// isWaiting reports whether the replicas of a collection are not to be asked yet.
func (p *Projector) isWaiting(collection uuid.UUID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opt.Now().Before(p.waits[collection].until)
}

// waitForReplicas begins or prolongs the wait for the replicas of a collection. It reports
// whether it began.
func (p *Projector) waitForReplicas(collection uuid.UUID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.waits[collection]
	w.until = p.opt.Now().Add(pause(w.tries))
	w.tries++
	p.waits[collection] = w
	return w.tries == 1
}

// endWait ends the wait for the replicas of a collection. It reports whether there was
// one.
func (p *Projector) endWait(collection uuid.UUID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, waited := p.waits[collection]
	delete(p.waits, collection)
	return waited
}

// pause returns the time until the next try after some failures.
func pause(failures int) time.Duration {
	const first, longest = time.Second, 30 * time.Second
	return min(first<<min(failures, 10), longest)
}
