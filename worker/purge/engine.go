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

// Index is what holds documents (internal/index).
type Index interface {
	Doomed(ctx context.Context, limit int) ([]index.Doomed, error)
	Purge(ctx context.Context, scope viewer.Scope, connector uuid.UUID, limit int) (int, error)
	PurgeConnector(ctx context.Context, scope viewer.Scope, connector uuid.UUID) error
	PurgeCollections(ctx context.Context) (int, error)
}

// Files deletes up to limit uploaded files of a connector with their contents
// and says how many it was (internal/connector/sourcefile).
type Files interface {
	Purge(ctx context.Context, connectorID uuid.UUID, limit int) (int, error)
}

// Hooks ends what a connector has at its platform (worker/subscribe).
type Hooks interface {
	// End asks the platform once, in bounded time; an error is the database's.
	End(ctx context.Context, workspace, connector uuid.UUID) error
}

// Options are settings with useful zero values.
type Options struct {
	Hooks     Hooks         // nil: connectors have nothing at their platforms
	Slice     int           // documents that are deleted in one transaction: 200
	SliceTime time.Duration // after which a task ends; the next sweep goes on: 1 minute
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

// wantedAtOnce bounds how many connectors one sweep names.
const wantedAtOnce = 1000

// Engine deletes connectors and collections. It is safe for concurrent use.
type Engine struct {
	index Index
	files Files
	opt   Options
}

// New makes an engine.
func New(idx Index, files Files, o Options) *Engine {
	return &Engine{index: idx, files: files, opt: o.withDefaults()}
}

// Wanted returns a task for each connector, of any workspace, that is to be
// deleted, and deletes the collections that wait for none.
func (e *Engine) Wanted(ctx context.Context) ([]queue.Purge, error) {
	if err := e.collections(ctx); err != nil {
		return nil, err
	}
	doomed, err := e.index.Doomed(ctx, wantedAtOnce)
	if err != nil {
		return nil, err
	}
	wanted := make([]queue.Purge, len(doomed))
	for i, d := range doomed {
		wanted[i] = queue.Purge{Workspace: d.Workspace, Connector: d.Connector}
	}
	return wanted, nil
}

func (e *Engine) collections(ctx context.Context) error {
	n, err := e.index.PurgeCollections(ctx)
	if err == nil && n > 0 {
		e.opt.Log.InfoContext(ctx, "collections are deleted", "collections", n)
	}
	return err
}

// Purge deletes the connector that t names, slice by slice, until nothing is
// left of it, the time of the task is over, or ctx ends; the next task goes on.
// An error means that the task is to be delivered again.
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
	if err == nil || errors.Is(err, errOver) || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("delete a connector: %w", err)
}

// errOver ends a task.
var errOver = errors.New("the time is over")

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
				return errOver
			}
		}
	}
	if err := e.index.PurgeConnector(ctx, scope, connector); err != nil {
		return err
	}
	e.opt.Log.InfoContext(ctx, "a connector is deleted", "connector", connector, "rows", total)
	return e.collections(ctx)
}
