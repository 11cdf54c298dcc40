package reembed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Index is what keeps the vectors (internal/index).
type Index interface {
	ModelChanges(ctx context.Context) ([]index.ModelChange, error)
	RetireModel(ctx context.Context, old, next string) (int, error)
	States(ctx context.Context, scope viewer.Scope) ([]index.State, error)
	Lacking(ctx context.Context, scope viewer.Scope, collection uuid.UUID, model string, after int64, from uuid.UUID, limit int) ([]index.Unembedded, error)
	AddVectors(ctx context.Context, scope viewer.Scope, collection uuid.UUID, model string, passages []index.Unembedded, vectors [][]float32) error
	SwitchModel(ctx context.Context, scope viewer.Scope, collection uuid.UUID, next string, after int64) (bool, error)
	FoldVectors(ctx context.Context, scope viewer.Scope, collection uuid.UUID, limit int) (int, error)
	DropVectors(ctx context.Context, scope viewer.Scope, collection uuid.UUID, limit int) (int, error)
	Settle(ctx context.Context, scope viewer.Scope, collection uuid.UUID, model string, after int64) (bool, error)
}

// Options are settings with useful zero values.
type Options struct {
	Slice     int           // passages that are embedded and kept in one transaction: 64
	SliceTime time.Duration // after which a task ends; the next sweep goes on: 1 minute
	// Retired maps names of models that are not offered any more to those that
	// take their place. A collection of such a model changes by itself, unless
	// the old model is still set up.
	Retired map[string]string
	Now     func() time.Time
	Log     *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Slice <= 0 {
		o.Slice = 64
	}
	if o.SliceTime <= 0 {
		o.SliceTime = time.Minute
	}
	if o.Retired == nil {
		o.Retired = map[string]string{"builtin-hash-384": embed.BuiltinModel}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Engine changes the models of collections. It is safe for concurrent use.
type Engine struct {
	index  Index
	models *embed.Registry
	opt    Options
}

// New makes an engine.
func New(idx Index, models *embed.Registry, o Options) *Engine {
	return &Engine{index: idx, models: models, opt: o.withDefaults()}
}

// Wanted returns a task for each collection, of any workspace, on which this
// engine can do something, after it has set off what must change by itself.
func (e *Engine) Wanted(ctx context.Context) ([]queue.Reembed, error) {
	for old, next := range e.opt.Retired {
		if _, there := e.models.Lookup(old); there {
			continue
		}
		if _, there := e.models.Lookup(next); !there {
			continue
		}
		n, err := e.index.RetireModel(ctx, old, next)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			e.opt.Log.InfoContext(ctx, "collections change to the model that took the place of theirs", "collections", n, "model", next)
		}
	}
	changes, err := e.index.ModelChanges(ctx)
	if err != nil {
		return nil, err
	}
	var wanted []queue.Reembed
	for _, c := range changes {
		if c.Stale || e.offers(c.Next) {
			wanted = append(wanted, queue.Reembed{Workspace: c.Workspace, Collection: c.Collection})
		}
	}
	return wanted, nil
}

func (e *Engine) offers(model string) bool {
	_, there := e.models.Lookup(model)
	return there
}

// Reembed works on the collection that t names until nothing is left to do, the
// slice's time is over, or ctx ends; the next task goes on. An error means that
// the task is to be delivered again.
func (e *Engine) Reembed(ctx context.Context, t queue.Reembed) error {
	scope, err := viewer.System(t.Workspace).Scope()
	if err != nil {
		return fmt.Errorf("reembed a collection: %w", err)
	}
	if scope, err = scope.Narrow(t.Collection); err != nil {
		return fmt.Errorf("reembed a collection: %w", err)
	}
	j := &job{Engine: e, scope: scope, collection: t.Collection, began: e.opt.Now(), log: e.opt.Log.With("collection", t.Collection)}
	err = j.work(ctx)
	switch {
	case err == nil, errors.Is(err, errOver), ctx.Err() != nil:
		return nil
	case errors.Is(err, index.ErrModel), errors.Is(err, viewer.ErrOutOfReach), apierr.From(err).Code == apierr.CodeNotFound:
		return nil // decided otherwise meanwhile; the next sweep looks again
	default:
		return fmt.Errorf("reembed a collection: %w", err)
	}
}

// errOver ends a slice.
var errOver = errors.New("the slice is over")

// job is one slice of work on one collection.
type job struct {
	*Engine
	scope      viewer.Scope
	collection uuid.UUID
	began      time.Time
	log        *slog.Logger
}

func (j *job) work(ctx context.Context) error {
	for {
		change, wanted, err := j.change(ctx)
		if err != nil || !wanted {
			return err
		}
		worked := false
		if change.Stale {
			if worked, err = j.settle(ctx, change); err != nil {
				return err
			}
		}
		if embedder, there := j.models.Lookup(change.Next); there {
			if err := j.switchTo(ctx, embedder); err != nil {
				return err
			}
			worked = true
		}
		if !worked {
			return nil // the model is not set up here
		}
	}
}

func (j *job) change(ctx context.Context) (index.ModelChange, bool, error) {
	all, err := j.index.ModelChanges(ctx)
	if err != nil {
		return index.ModelChange{}, false, err
	}
	for _, c := range all {
		if c.Collection == j.collection {
			return c, true, nil
		}
	}
	return index.ModelChange{}, false, nil
}

// settle brings the vectors of the collection's model into their place and
// throws away what nobody wants. It reports whether that is done.
func (j *job) settle(ctx context.Context, c index.ModelChange) (bool, error) {
	embedder, there := j.models.Lookup(c.Model)
	at, err := j.reached(ctx)
	if err != nil {
		return false, err
	}
	if there {
		if err := j.fill(ctx, embedder, 0); err != nil {
			return false, err
		}
	}
	for _, tidy := range []func(context.Context, viewer.Scope, uuid.UUID, int) (int, error){j.index.FoldVectors, j.index.DropVectors} {
		for n := -1; n != 0; {
			if err := j.over(ctx); err != nil {
				return false, err
			}
			if n, err = tidy(ctx, j.scope, j.collection, 4*j.opt.Slice); err != nil {
				return false, err
			}
		}
	}
	settled, err := j.index.Settle(ctx, j.scope, j.collection, c.Model, at)
	if settled {
		j.log.InfoContext(ctx, "all vectors of a collection are in their place", "model", c.Model)
	}
	// Without the model somebody else has to go on.
	return settled || there, err
}

// switchTo fills the collection with vectors of its next model and switches as
// soon as no passage lacks one.
func (j *job) switchTo(ctx context.Context, embedder embed.Embedder) error {
	after := int64(0) // look at everything
	for {
		at, err := j.reached(ctx)
		if err != nil {
			return err
		}
		if err := j.fill(ctx, embedder, after); err != nil {
			return err
		}
		switched, err := j.index.SwitchModel(ctx, j.scope, j.collection, embedder.Model(), at)
		if err != nil {
			return err
		}
		if switched {
			j.log.InfoContext(ctx, "a collection has changed its model", "model", embedder.Model())
			return nil
		}
		// Documents were stored meanwhile, or the model is wanted no more.
		change, wanted, err := j.change(ctx)
		if err != nil || !wanted || change.Next != embedder.Model() {
			return err
		}
		after = at
	}
}

// reached is the collection's change number now.
func (j *job) reached(ctx context.Context) (int64, error) {
	states, err := j.index.States(ctx, j.scope)
	switch {
	case err != nil:
		return 0, err
	case len(states) == 0:
		return 0, viewer.ErrOutOfReach // it is gone
	}
	return states[0].Change, nil
}

// fill gives a vector to every passage that lacks one of the model; with after
// over 0 to those of documents that changed after that change number.
func (j *job) fill(ctx context.Context, embedder embed.Embedder, after int64) error {
	texts := make([]string, 0, j.opt.Slice)
	for from := uuid.Nil; ; {
		if err := j.over(ctx); err != nil {
			return err
		}
		lacking, err := j.index.Lacking(ctx, j.scope, j.collection, embedder.Model(), after, from, j.opt.Slice)
		if err != nil {
			return err
		}
		if len(lacking) == 0 {
			return nil
		}
		texts = texts[:0]
		for i := range lacking {
			texts = append(texts, ingest.EmbeddingInput(lacking[i].Title, &lacking[i].Content))
		}
		vectors, err := embedder.Embed(ctx, texts, embed.Passage)
		if err != nil {
			return fmt.Errorf("embed passages: %w", err)
		}
		if err := j.index.AddVectors(ctx, j.scope, j.collection, embedder.Model(), lacking, vectors); err != nil {
			return err
		}
		from = lacking[len(lacking)-1].Document
	}
}

// over ends the slice when its time has come.
func (j *job) over(ctx context.Context) error {
	if ctx.Err() != nil || j.opt.Now().Sub(j.began) >= j.opt.SliceTime {
		return errOver
	}
	return nil
}
