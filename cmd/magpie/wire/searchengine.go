package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/metrics"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/engine/weaviate"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/worker"
	"github.com/magpie-search/magpie/worker/project"
)

// searchEngine returns the client of the nodes of ENGINE_URL, which need not be reachable.
// It returns nil if there are none.
func searchEngine(ctx context.Context, c *config.Config) (engine.Backend, error) {
	urls := c.EngineURLs()
	if len(urls) == 0 {
		return nil, nil //nolint:nilnil // an installation need not have one
	}
	backend, err := weaviate.Open(ctx, urls, weaviate.Options{APIKey: c.EngineAPIKey.Reveal()})
	if err != nil {
		return nil, fmt.Errorf("ENGINE_URL: %w", err)
	}
	return backend, nil
}

// openSearchEngine sets a.Engine, if there is one.
func (a *App) openSearchEngine(ctx context.Context) error {
	backend, err := searchEngine(ctx, a.Config)
	if err != nil || backend == nil {
		return err
	}
	a.Engine = &countedEngine{backend, a.Metrics}
	a.closers = append(a.closers, a.Engine.Close)
	return nil
}

// distributedTier returns the tier of searches in the search engine, or nil without one. It
// is closed with the application.
func (a *App) distributedTier() *engine.Tier {
	if a.Engine == nil {
		return nil
	}
	tier := engine.New(a.Engine, engine.Options{Projections: a.projections, Feed: a.Index.ReadFrom(a.Readers), Log: a.Log})
	a.closers = append(a.closers, func() error { tier.Close(); return nil })
	a.Metrics.Counter("engine", "searches_total", "Requests for candidates of collections that are in the search engine.", func() float64 { return float64(tier.Stats().Searches) })
	a.Metrics.Counter("engine", "fallbacks_total", "Times that PostgreSQL alone searched a collection that is in the search engine.", func() float64 { return float64(tier.Stats().Fallbacks) })
	return tier
}

// projections returns what the search engine has of the collections of a workspace.
func (a *App) projections(ctx context.Context, workspace uuid.UUID) (map[uuid.UUID]engine.Projection, error) {
	scope, err := viewer.System(workspace).Scope()
	if err != nil {
		return nil, fmt.Errorf("reach the workspace: %w", err)
	}
	rows, err := a.Index.Projections(ctx, scope)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	instance, err := a.Index.Instance(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[uuid.UUID]engine.Projection, len(rows))
	for i := range rows {
		p := &rows[i]
		if p.State == index.ProjectionReady && p.History == instance.History {
			found[p.Collection] = engine.Projection{
				Class: p.Class, Model: p.Model, Position: index.Position{Generation: p.IndexGeneration, Change: p.Confirmed.Change}, Refused: p.Refused,
			}
		}
	}
	return found, nil
}

// projection returns the projector of the worker, or nil without a search engine.
func (a *App) projection() worker.Projection {
	if a.Engine == nil {
		return nil
	}
	p := project.New(a.Index, a.Engine, project.Options{
		Dimensions: func(model string) int {
			embedder, configured := a.Models.Lookup(model)
			if !configured {
				return 0
			}
			return embedder.Dimensions()
		},
		Log: a.Log,
	})
	a.Metrics.Counter("engine", "objects_total", "Objects that this worker has sent to the search engine.", func() float64 { return float64(p.Objects()) })
	return p
}

// EngineNodes returns the nodes of the search engine of the settings, for checks.
func EngineNodes(ctx context.Context, c *config.Config) ([]engine.Node, error) {
	backend, err := searchEngine(ctx, c)
	if err != nil || backend == nil {
		return nil, err
	}
	nodes, err := backend.Nodes(ctx)
	return nodes, errors.Join(err, backend.Close())
}

// A countedEngine counts the calls of a search engine.
type countedEngine struct {
	backend engine.Backend
	metrics *metrics.Metrics
}

var _ engine.Backend = (*countedEngine)(nil)

// Create implements engine.Backend.
func (e *countedEngine) Create(ctx context.Context, c engine.Class) error {
	ended := e.metrics.EngineCall("create")
	err := e.backend.Create(ctx, c)
	ended(ctx, err)
	return err
}

// Drop implements engine.Backend.
func (e *countedEngine) Drop(ctx context.Context, class string) error {
	ended := e.metrics.EngineCall("drop")
	err := e.backend.Drop(ctx, class)
	ended(ctx, err)
	return err
}

// Classes implements engine.Backend.
func (e *countedEngine) Classes(ctx context.Context, prefix string) ([]string, error) {
	ended := e.metrics.EngineCall("classes")
	classes, err := e.backend.Classes(ctx, prefix)
	ended(ctx, err)
	return classes, err
}

// Put implements engine.Backend.
func (e *countedEngine) Put(ctx context.Context, class string, objects []engine.Object) error {
	ended := e.metrics.EngineCall("put")
	err := e.backend.Put(ctx, class, objects)
	ended(ctx, err)
	return err
}

// Delete implements engine.Backend.
func (e *countedEngine) Delete(ctx context.Context, class string, documents []uuid.UUID, before int64) error {
	ended := e.metrics.EngineCall("delete")
	err := e.backend.Delete(ctx, class, documents, before)
	ended(ctx, err)
	return err
}

// Missing implements engine.Backend.
func (e *countedEngine) Missing(ctx context.Context, class string, passages []uuid.UUID, change int64) ([]uuid.UUID, error) {
	ended := e.metrics.EngineCall("missing")
	missing, err := e.backend.Missing(ctx, class, passages, change)
	ended(ctx, err)
	return missing, err
}

// Search implements engine.Backend.
func (e *countedEngine) Search(ctx context.Context, class string, q *engine.Query) ([]engine.Found, error) {
	ended := e.metrics.EngineCall("search")
	found, err := e.backend.Search(ctx, class, q)
	ended(ctx, err)
	return found, err
}

// Nodes implements engine.Backend.
func (e *countedEngine) Nodes(ctx context.Context) ([]engine.Node, error) {
	ended := e.metrics.EngineCall("nodes")
	nodes, err := e.backend.Nodes(ctx)
	ended(ctx, err)
	return nodes, err
}

// Close implements engine.Backend.
func (e *countedEngine) Close() error { return e.backend.Close() }
