package search

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/rerank"
	"github.com/magpie-search/magpie/internal/request/fair"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/postgres"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/resident"
	"github.com/magpie-search/magpie/internal/store/replica"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Options tune an Engine; the zero value is ready to use.
type Options struct {
	// Log gets warnings, such as that a search had no vectors; nil discards them.
	Log *slog.Logger
	// Timeout bounds each statement, 10 s by default.
	Timeout time.Duration
	// SnippetRunes is the length of snippets, 320 by default.
	SnippetRunes int
	// Memory bounds the bytes of the resident collections, 1 GiB by default. A
	// thirty-second of it, at most 32 MiB, caches the texts of results. A negative value
	// searches everything in PostgreSQL.
	Memory int64
	// MaxLoadWait bounds the time that a search waits for a collection that is being
	// loaded, 300 ms by default. After it the search uses PostgreSQL. A search waits some
	// seconds for a collection without search indexes in PostgreSQL.
	MaxLoadWait time.Duration
	// Reranker scores the best results again; nil for none.
	Reranker rerank.Reranker
	// Questions bound and cache the embedding of queries by models other than the builtin
	// one.
	Questions embed.QuestionOptions
	// Readers choose the servers of reads; nil for the pool alone.
	Readers *replica.Readers
	// Distributed finds candidates of collections that a distributed engine has; nil for
	// none. The caller closes it after the Engine.
	Distributed *engine.Tier
	// Places is the number of searches that run at a time, four for each processor by
	// default. If several workspaces search, none has more than an eighth of them.
	Places int
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.SnippetRunes <= 0 {
		o.SnippetRunes = 320
	}
	if o.Memory == 0 {
		o.Memory = 1 << 30
	}
	if o.MaxLoadWait <= 0 {
		o.MaxLoadWait = 300 * time.Millisecond
	}
	if o.Places <= 0 {
		o.Places = 4 * runtime.GOMAXPROCS(0)
	}
	if o.Questions.Log == nil {
		o.Questions.Log = o.Log
	}
	return o
}

// An Engine answers queries. It is safe for concurrent use. Close stops its background
// work.
type Engine struct {
	readers     *replica.Readers
	primary     *replica.Readers // of the primary alone
	store       *index.Store
	analyzer    *analysis.Analyzer
	models      *embed.Registry
	ranker      *rank.Ranker
	resident    *resident.Cache // nil if nothing is resident
	stored      *postgres.Tier
	embedders   map[string]*embed.Questions // of queries, by model; not of the builtin model
	backgrounds backgrounds
	hits        hitCache
	gate        *fair.Gate
	connections *semaphore.Weighted // that searches of the stored tier hold
	maxConns    int64
	opt         Options
}

// New returns an Engine on the application's pool (internal/store). The analyzer must be
// the one that the index was written with.
func New(pool *pgxpool.Pool, a *analysis.Analyzer, models *embed.Registry, opt Options) *Engine {
	opt = opt.withDefaults()
	if opt.Readers == nil {
		opt.Readers = replica.Primary(pool)
	}
	maxConns := max(int64(pool.Config().MaxConns)-2, 1)
	e := &Engine{
		readers: opt.Readers, primary: replica.Primary(pool), store: index.New(pool, a).ReadFrom(opt.Readers), analyzer: a, models: models, ranker: rank.New(),
		stored: postgres.New(pool, postgres.Options{Timeout: opt.Timeout, Readers: opt.Readers}), embedders: make(map[string]*embed.Questions),
		connections: semaphore.NewWeighted(maxConns), maxConns: maxConns, gate: fair.New(fair.Options{Places: opt.Places, Share: max(opt.Places/8, 1)}), opt: opt,
	}
	for _, name := range models.Names() {
		if model, ok := models.Lookup(name); ok && name != embed.BuiltinModel {
			e.embedders[name] = embed.NewQuestions(model, opt.Questions)
		}
	}
	if opt.Memory > 0 {
		e.hits.budget = min(opt.Memory/32, 32<<20)
		e.resident = resident.NewCache(e.store, resident.CacheOptions{
			Budget: opt.Memory - e.hits.budget, MaxWait: opt.MaxLoadWait, BeforeCommit: e.refreshHits, WhileLoading: fair.Outside, Log: opt.Log,
		})
	}
	return e
}

// Close stops the background work of the engine.
func (e *Engine) Close() {
	e.backgrounds.close()
	if e.resident != nil {
		e.resident.Close()
	}
}

// inTurn makes a call for a query of a workspace once there is a place for it. All that a
// query asks of the stores belongs into it: what waits for a connection outside of its
// place makes the other workspaces wait.
func (e *Engine) inTurn(ctx context.Context, scope viewer.Scope, call func(context.Context) error) error {
	workspace, err := scope.Workspace()
	if err != nil {
		return fmt.Errorf("find the workspace: %w", err)
	}
	return e.gate.Run(ctx, workspace, call)
}

// Loaded returns the sizes of the collections of a workspace that are resident.
func (e *Engine) Loaded(workspace uuid.UUID) map[uuid.UUID]resident.Size {
	if e.resident == nil {
		return nil
	}
	return e.resident.Loaded(workspace)
}

// Resident returns the counts of the resident tier.
func (e *Engine) Resident() resident.CacheStats {
	if e.resident == nil {
		return resident.CacheStats{}
	}
	return e.resident.Stats()
}
