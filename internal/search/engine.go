package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/rerank"
	"github.com/magpie-search/magpie/internal/search/postgres"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/resident"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Options tunes an Engine; the zero value is ready to use.
type Options struct {
	// Log gets a warning when a search must do without vectors; nil discards it.
	Log *slog.Logger
	// Timeout bounds each statement, 10 s by default.
	Timeout time.Duration
	// SnippetRunes is the length of snippets, 320 by default.
	SnippetRunes int
	// Memory bounds the bytes of collections kept in memory, 1 GiB by default; a
	// thirty-second of it, at most 32 MiB, goes to what is shown of results.
	// With a negative value every search is answered out of PostgreSQL.
	Memory int64
	// Patience is how long a search waits for a collection that is being
	// loaded, 300 ms by default; then PostgreSQL answers. For one of which
	// PostgreSQL has no search indexes it waits for some seconds.
	Patience time.Duration
	// Reranker rates the best results anew; nil for none.
	Reranker rerank.Reranker
	// Questions says how long questions may take to be embedded, and what is
	// remembered of them. The builtin model, which is no other system, is not bound by it.
	Questions embed.QuestionOptions
}

// Engine answers searches. It is safe for concurrent use; Close it in the end.
type Engine struct {
	pool     *pgxpool.Pool
	store    *index.Store
	analyzer *analysis.Analyzer
	models   *embed.Registry
	ranker   *rank.Ranker
	resident *resident.Cache // nil when nothing is kept in memory
	tier     *postgres.Tier
	question map[string]*embed.Questions // by model, but for the builtin one
	chances  chances
	hits     hitCache
	states   states
	permits  *semaphore.Weighted // connections that searches may hold for long
	most     int64               // of them
	opt      Options
}

// New makes an Engine on the application's pool (internal/store). The analyzer
// must be the kind that the index was written with.
func New(pool *pgxpool.Pool, a *analysis.Analyzer, models *embed.Registry, opt Options) *Engine {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Timeout <= 0 {
		opt.Timeout = 10 * time.Second
	}
	if opt.SnippetRunes <= 0 {
		opt.SnippetRunes = 320
	}
	if opt.Memory == 0 {
		opt.Memory = 1 << 30
	}
	if opt.Patience <= 0 {
		opt.Patience = 300 * time.Millisecond
	}
	most := max(int64(pool.Config().MaxConns)-2, 1)
	e := &Engine{
		permits: semaphore.NewWeighted(most), most: most,
		pool: pool, store: index.New(pool, a), analyzer: a, models: models, ranker: rank.New(a),
		tier: postgres.New(pool, postgres.Options{Timeout: opt.Timeout}), opt: opt,
	}
	if opt.Questions.Log == nil {
		opt.Questions.Log = opt.Log
	}
	e.question = make(map[string]*embed.Questions)
	for _, name := range models.Names() {
		if model, ok := models.Lookup(name); ok && name != embed.BuiltinModel {
			e.question[name] = embed.NewQuestions(model, opt.Questions)
		}
	}
	if opt.Memory > 0 {
		e.hits.budget = min(opt.Memory/32, 32<<20)
		e.resident = resident.NewCache(e.store, resident.CacheOptions{
			Budget: opt.Memory - e.hits.budget, Patience: opt.Patience, Changed: e.readAhead, Log: opt.Log,
		})
	}
	return e
}

// Close ends what the engine does in the background.
func (e *Engine) Close() {
	e.chances.close()
	if e.resident != nil {
		e.resident.Close()
	}
}

// Resident counts what is kept in memory.
func (e *Engine) Resident() resident.CacheStats {
	if e.resident == nil {
		return resident.CacheStats{}
	}
	return e.resident.Stats()
}

// tries is how often a search is made whose results were replaced between
// finding and reading them. The last time PostgreSQL answers alone, in one
// transaction, where that cannot happen.
const tries = 4

// Search finds the passages within scope that answer a query, best first. It
// sees every write that ended before it began, save those of a sync that is
// still running, of which it sees whole documents. Errors are apierr ones for a
// query that is out of range; collections of the scope that do not exist are
// passed over.
func (e *Engine) Search(ctx context.Context, scope viewer.Scope, q Query) (*Results, error) {
	start := time.Now()
	q = q.complete()
	if err := q.check(); err != nil {
		return nil, err
	}
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	results := &Results{}
	for try := 1; ; try++ {
		complete, err := e.once(ctx, scope, workspace, &q, try, results)
		if err != nil {
			return nil, fmt.Errorf("search: %w", readable(err))
		}
		if complete || try == tries {
			break
		}
	}
	results.Took = time.Since(start)
	return results, nil
}

// once searches once. From the second try on it waits for everything that has
// been written. complete tells that no result was missing.
func (e *Engine) once(ctx context.Context, scope viewer.Scope, workspace uuid.UUID, q *Query, try int, results *Results) (complete bool, err error) {
	question, ahead, err := e.prepare(ctx, scope, workspace, q)
	if err != nil {
		return false, err
	}
	results.Oldest = ahead.oldest
	passes := q.passes(question)
	reach, err := e.open(ctx, scope, workspace, q, question, how{current: try > 1, stored: try == tries, wide: wide(passes), ahead: ahead})
	if err != nil {
		return false, err
	}
	defer reach.close(ctx)
	found := ahead.result(reach)
	if found == nil {
		if found, err = e.rank(ctx, reach, q, question, nil); err != nil {
			return false, err
		}
	}
	ranked := found.Ranked
	results.Total = found.Total
	read := make(map[uuid.UUID]*Hit)
	results.LexicalOnly = reach.lexicalOnly
	if e.opt.Reranker != nil && len(ranked) > 0 {
		if ranked, results.Unrated, err = e.rerank(ctx, reach, q, ranked, read); err != nil {
			return false, err
		}
		results.Total = len(ranked)
	}
	page := ranked[min(q.Offset, len(ranked)):]
	page = page[:min(q.Limit, len(page))]
	if err := reach.read(ctx, page, read); err != nil {
		return false, err
	}
	complete = true
	results.Hits = make([]Hit, 0, len(page))
	snippets := e.excerpter(found.Terms, q.Highlight)
	for i := range page {
		h := read[page[i].Passage]
		if h == nil {
			complete = false
			continue
		}
		h.Score = page[i].Score
		h.Snippet = snippets.Excerpt(h.Text, h.Language)
		results.Hits = append(results.Hits, *h)
	}
	if q.Facets != nil && (complete || try == tries) {
		if results.Facets, err = reach.count(ctx, q, question, ranked, passes); err != nil {
			return false, err
		}
	}
	return complete, nil
}

// rank ranks what is in reach.
func (e *Engine) rank(ctx context.Context, r *reach, q *Query, question *rank.Question, aside rank.Aside) (*rank.Result, error) {
	found, err := e.ranker.Search(ctx, r.parts, question, rank.Options{Least: q.MinScore, Now: start(q), Most: e.told(q), Aside: aside})
	if err != nil {
		return nil, fmt.Errorf("rank: %w", err)
	}
	return found, nil
}

// told is how many results a ranking has to tell of: those of the page and before,
// unless all are counted or rated anew.
func (e *Engine) told(q *Query) int {
	if q.Facets != nil || e.opt.Reranker != nil {
		return 0
	}
	return min(q.Offset, rank.PoolSize) + q.Limit
}

func start(q *Query) int64 {
	if q.Now.IsZero() {
		return time.Now().Unix()
	}
	return q.Now.Unix()
}

// readable turns the database's refusals into errors that callers can act on.
func readable(err error) error {
	var unreachable *pgconn.ConnectError
	if errors.As(err, &unreachable) {
		return &apierr.Error{Code: apierr.Unavailable, Message: "The database cannot be reached; try again.", Cause: err}
	}
	var p *pgconn.PgError
	if !errors.As(err, &p) {
		return err
	}
	switch {
	case p.Code == "57014":
		return &apierr.Error{Code: apierr.Unavailable, Message: "The search took too long; narrow it with filters.", Cause: err}
	case strings.HasPrefix(p.Code, "57P0"):
		return &apierr.Error{Code: apierr.Unavailable, Message: "The database is restarting; try again.", Cause: err}
	default:
		return err
	}
}
