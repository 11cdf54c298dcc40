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
	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/viewer"
)

// An Index stores vectors (internal/index).
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

// Options has useful zero values. Defaults are in the comments.
type Options struct {
	Slice     int           // passages per transaction: 64
	SliceTime time.Duration // of a task; the next task continues: 1 minute
	// Retired maps the names of retired models to their replacements. A collection
	// of a retired model changes to the replacement unless the retired model is
	// still configured.
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
		o.Retired = map[string]string{"builtin-hash-384": embed.BuiltinModel, "builtin-static-256": embed.BuiltinModel}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// An Engine changes the models of collections. It is safe for concurrent use.
type Engine struct {
	index  Index
	models *embed.Registry
	opt    Options
}

// New returns an engine.
func New(idx Index, models *embed.Registry, o Options) *Engine {
	return &Engine{index: idx, models: models, opt: o.withDefaults()}
}

// Pending returns a task for each collection, of any workspace, that this engine
// can work on. First it starts the replacement of retired models.
func (e *Engine) Pending(ctx context.Context) ([]queue.Reembed, error) {
	for old, next := range e.opt.Retired {
		if e.offers(old) || !e.offers(next) {
			continue
		}
		n, err := e.index.RetireModel(ctx, old, next)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			e.opt.Log.InfoContext(ctx, "retired model replaced", slog.Int("collections", n), slog.String("model", next))
		}
	}
	changes, err := e.index.ModelChanges(ctx)
	if err != nil {
		return nil, err
	}
	var tasks []queue.Reembed
	for _, c := range changes {
		if c.Stale || e.offers(c.Next) {
			tasks = append(tasks, queue.Reembed{Workspace: c.Workspace, Collection: c.Collection})
		}
	}
	return tasks, nil
}

// offers reports whether a model is configured.
func (e *Engine) offers(model string) bool {
	_, ok := e.models.Lookup(model)
	return ok
}

// Reembed works on a collection until there is nothing to do, the time of the task
// is over, or ctx ends. The next task continues. After an error the queue delivers
// the task again.
func (e *Engine) Reembed(ctx context.Context, t queue.Reembed) error {
	scope, err := viewer.System(t.Workspace).Scope()
	if err != nil {
		return fmt.Errorf("reembed a collection: %w", err)
	}
	if scope, err = scope.Narrow(t.Collection); err != nil {
		return fmt.Errorf("reembed a collection: %w", err)
	}
	j := &job{Engine: e, scope: scope, collection: t.Collection, start: e.opt.Now(), log: e.opt.Log.With(slog.Any("collection", t.Collection))}
	err = j.run(ctx)
	switch {
	case err == nil, errors.Is(err, errTimeUp), ctx.Err() != nil:
		return nil
	case errors.Is(err, index.ErrModel), errors.Is(err, viewer.ErrOutOfScope), apierr.From(err).Code == apierr.CodeNotFound:
		return nil // the change was cancelled; Pending finds what is left
	default:
		return fmt.Errorf("reembed a collection: %w", err)
	}
}

// errTimeUp ends a task.
var errTimeUp = errors.New("the time of the task is over")

// A job is the work of one task on a collection.
type job struct {
	*Engine
	scope      viewer.Scope
	collection uuid.UUID
	start      time.Time
	log        *slog.Logger
}

func (j *job) run(ctx context.Context) error {
	for {
		change, pending, err := j.change(ctx)
		if err != nil || !pending {
			return err
		}
		progress := false
		if change.Stale {
			if progress, err = j.settle(ctx, change); err != nil {
				return err
			}
		}
		if embedder, ok := j.models.Lookup(change.Next); ok {
			if err := j.switchTo(ctx, embedder); err != nil {
				return err
			}
			progress = true
		}
		if !progress {
			return nil // the model is not configured here
		}
	}
}

// change returns the change of the collection. It reports false when there is none.
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

// settle moves the vectors of the collection's model to their place and drops
// vectors of other models. It reports whether it made progress.
func (j *job) settle(ctx context.Context, c index.ModelChange) (bool, error) {
	embedder, offered := j.models.Lookup(c.Model)
	at, err := j.changeNumber(ctx)
	if err != nil {
		return false, err
	}
	if offered {
		if err := j.fill(ctx, embedder, 0); err != nil {
			return false, err
		}
	}
	for _, step := range []func(context.Context, viewer.Scope, uuid.UUID, int) (int, error){j.index.FoldVectors, j.index.DropVectors} {
		for n := -1; n != 0; {
			if err := j.checkTime(ctx); err != nil {
				return false, err
			}
			if n, err = step(ctx, j.scope, j.collection, 4*j.opt.Slice); err != nil {
				return false, err
			}
		}
	}
	settled, err := j.index.Settle(ctx, j.scope, j.collection, c.Model, at)
	if settled {
		j.log.InfoContext(ctx, "collection vectors settled", slog.String("model", c.Model))
	}
	return settled || offered, err // without the model another worker continues
}

// switchTo adds vectors of the next model and switches the collection when no
// passage lacks one.
func (j *job) switchTo(ctx context.Context, embedder embed.Embedder) error {
	after := int64(0) // all documents
	for {
		at, err := j.changeNumber(ctx)
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
			j.log.InfoContext(ctx, "collection model switched", slog.String("model", embedder.Model()))
			return nil
		}
		// Documents were stored meanwhile, or the change was cancelled.
		change, pending, err := j.change(ctx)
		if err != nil || !pending || change.Next != embedder.Model() {
			return err
		}
		after = at
	}
}

// changeNumber returns the current change number of the collection.
func (j *job) changeNumber(ctx context.Context) (int64, error) {
	states, err := j.index.States(ctx, j.scope)
	switch {
	case err != nil:
		return 0, err
	case len(states) == 0:
		return 0, viewer.ErrOutOfScope // it was deleted
	}
	return states[0].Change, nil
}

// fill adds a vector of the model to every passage that lacks one. With after above
// 0 it covers only documents that changed after that change number.
func (j *job) fill(ctx context.Context, embedder embed.Embedder, after int64) error {
	texts := make([]string, 0, j.opt.Slice)
	for from := uuid.Nil; ; {
		if err := j.checkTime(ctx); err != nil {
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
			return queue.Explain(fmt.Errorf("embed passages: %w", err), provider.Brief(err))
		}
		if err := j.index.AddVectors(ctx, j.scope, j.collection, embedder.Model(), lacking, vectors); err != nil {
			return err
		}
		from = lacking[len(lacking)-1].Document
	}
}

// checkTime returns errTimeUp when the time of the task is over.
func (j *job) checkTime(ctx context.Context) error {
	if ctx.Err() != nil || j.opt.Now().Sub(j.start) >= j.opt.SliceTime {
		return errTimeUp
	}
	return nil
}
