package purge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/viewer"
)

// An Index deletes documents (internal/index).
type Index interface {
	Doomed(ctx context.Context, limit int) ([]index.Doomed, error)
	Purge(ctx context.Context, scope viewer.Scope, connector uuid.UUID, limit int) (int, error)
	PurgeConnector(ctx context.Context, scope viewer.Scope, connector uuid.UUID) error
	PurgeCollections(ctx context.Context) (int, error)
}

// Files deletes at most limit uploaded files of a connector with their contents and
// returns their number (internal/connector/sourcefile).
type Files interface {
	Purge(ctx context.Context, connectorID uuid.UUID, limit int) (int, error)
}

// Hooks ends the webhook subscription of a connector (worker/subscribe).
type Hooks interface {
	// End asks the platform once, in bounded time. It returns only errors of the
	// database.
	End(ctx context.Context, workspace, connector uuid.UUID) error
}

// Options has useful zero values. Defaults are in the comments.
type Options struct {
	Hooks     Hooks         // nil: there are no subscriptions
	Slice     int           // documents per transaction: 200
	SliceTime time.Duration // of a task; the next task continues: 1 minute
	Now       func() time.Time
	Log       *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Slice <= 0 {
		o.Slice = 200
	}
	if o.SliceTime <= 0 {
		o.SliceTime = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// maxPending is the most connectors that Pending returns.
const maxPending = 1000

// An Engine deletes connectors and collections. It is safe for concurrent use.
type Engine struct {
	index Index
	files Files
	opt   Options
}

// New returns an engine.
func New(idx Index, files Files, o Options) *Engine {
	return &Engine{index: idx, files: files, opt: o.withDefaults()}
}

// Pending returns a task for each connector to delete, of any workspace. It deletes
// the collections whose connectors are gone.
func (e *Engine) Pending(ctx context.Context) ([]queue.Purge, error) {
	if err := e.purgeCollections(ctx); err != nil {
		return nil, err
	}
	doomed, err := e.index.Doomed(ctx, maxPending)
	if err != nil {
		return nil, err
	}
	tasks := make([]queue.Purge, len(doomed))
	for i, d := range doomed {
		tasks[i] = queue.Purge{Workspace: d.Workspace, Connector: d.Connector}
	}
	return tasks, nil
}

func (e *Engine) purgeCollections(ctx context.Context) error {
	n, err := e.index.PurgeCollections(ctx)
	if err == nil && n > 0 {
		e.opt.Log.InfoContext(ctx, "collections purged", slog.Int("collections", n))
	}
	return err
}

// Purge deletes a connector in slices until nothing is left, the time of the task
// is over, or ctx ends. The next task continues. After an error the queue delivers
// the task again.
func (e *Engine) Purge(ctx context.Context, t queue.Purge) error {
	scope, err := viewer.System(t.Workspace).Scope()
	if err != nil {
		return fmt.Errorf("delete a connector: %w", err)
	}
	if e.opt.Hooks != nil {
		err = e.opt.Hooks.End(ctx, t.Workspace, t.Connector)
	}
	if err == nil {
		err = e.purge(ctx, scope, t.Connector)
	}
	if err == nil || errors.Is(err, errTimeUp) || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("delete a connector: %w", err)
}

// errTimeUp ends a task.
var errTimeUp = errors.New("the time of the task is over")

func (e *Engine) purge(ctx context.Context, scope viewer.Scope, connector uuid.UUID) error {
	end := e.opt.Now().Add(e.opt.SliceTime)
	total := 0
	for _, step := range []func() (int, error){
		func() (int, error) { return e.index.Purge(ctx, scope, connector, e.opt.Slice) },
		func() (int, error) { return e.files.Purge(ctx, connector, e.opt.Slice) },
	} {
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			n, err := step()
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			if total += n; e.opt.Now().After(end) {
				return errTimeUp
			}
		}
	}
	if err := e.index.PurgeConnector(ctx, scope, connector); err != nil {
		return err
	}
	e.opt.Log.InfoContext(ctx, "connector purged", slog.Any("connector", connector), slog.Int("rows", total))
	return e.purgeCollections(ctx)
}
