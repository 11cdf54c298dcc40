package search

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"magpie/internal/embed"
	"magpie/internal/search/analysis"
	"magpie/internal/viewer"
)

// Options tunes an Engine; the zero value is ready to use.
type Options struct {
	// Log gets a warning when a search must do without vectors; nil discards it.
	Log *slog.Logger
	// Timeout bounds each statement, 10 s by default.
	Timeout time.Duration
	// SnippetRunes is the length of snippets, 320 by default.
	SnippetRunes int
	// LookUps is about how many passages of large collections the words of a
	// question may look up, 8000 by default. The commonest words beyond it add
	// to scores only.
	LookUps int
}

// PoolSize is how many candidates are ranked: what is beyond is not counted and
// cannot be paged to.
const PoolSize = 1000

// perDocument is how many passages of a document the ranked list has at most.
const perDocument = 3

// Engine answers searches out of PostgreSQL. It keeps nothing between searches
// but what it learns about models, and is safe for concurrent use.
type Engine struct {
	pool     *pgxpool.Pool
	analyzer *analysis.Analyzer
	models   *embed.Registry
	chances  chances
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
	if opt.LookUps <= 0 {
		opt.LookUps = 8000
	}
	return &Engine{pool: pool, analyzer: a, models: models, opt: opt}
}

// Search finds the passages within scope that answer a query, best first.
// Results are those of one moment: a document that is being replaced is found
// in its old or in its new version. Errors are apierr ones for a query that is
// out of range; collections of the scope that do not exist are passed over.
func (e *Engine) Search(ctx context.Context, scope viewer.Scope, q Query) (*Results, error) {
	start := time.Now()
	if err := q.check(); err != nil {
		return nil, err
	}
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	asked := newQuestion(e.analyzer, q.Text, q.Filters.Language)
	plan, err := e.plan(ctx, scope, workspace, asked)
	if err != nil {
		return nil, fmt.Errorf("search: %w", readable(err))
	}
	results := &Results{Hits: []Hit{}}
	results.LexicalOnly = e.embed(ctx, plan, q.Text)
	err = e.snapshot(ctx, workspace, func(conn *pgx.Conn, begin *pgx.Batch) error {
		found, err := e.candidates(ctx, conn, begin, workspace, plan, asked, &q.Filters)
		if err != nil {
			return err
		}
		ranked := e.rank(found, plan, asked, q.MinScore)
		results.Total = len(ranked)
		page := ranked[min(q.Offset, len(ranked)):min(q.Offset+q.Limit, len(ranked))]
		if len(page) == 0 {
			return nil
		}
		results.Hits, err = e.hits(ctx, conn, page, asked, q.Highlight)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("search: %w", readable(err))
	}
	results.Took = time.Since(start)
	return results, nil
}

// rank scores the candidates, keeps the best of them that reach the least
// score, and orders them: by score, then by id, so that pages never overlap.
func (e *Engine) rank(p *pool, plan *plan, asked *question, least float64) []*candidate {
	for i := range asked.words {
		matching := p.matching[i]
		if plan.pruned {
			matching = max(matching, plan.common(asked.words[i].terms, p.passages))
		}
		asked.words[i].idf = rarity(p.passages, matching)
	}
	ranked := make([]*candidate, 0, len(p.found))
	for i := range p.found {
		c := &p.found[i]
		part := &plan.parts[c.part]
		c.score = score(asked.rate(c, plan.averageBody), part.dense(c.similarity), len(asked.words), c.ordinal)
		if c.score >= least {
			ranked = append(ranked, c)
		}
	}
	slices.SortFunc(ranked, func(a, b *candidate) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		return slices.Compare(a.passage[:], b.passage[:])
	})
	ranked = ranked[:min(len(ranked), PoolSize)]
	if least <= 0 {
		return ranked
	}
	kept := ranked[:0]
	count := make(map[uuid.UUID]int)
	for _, c := range ranked {
		if count[c.document]++; count[c.document] <= perDocument {
			kept = append(kept, c)
		}
	}
	return kept
}

// snapshot runs do in a transaction that sees one moment of the database and is
// set to the workspace. The batch that opens it is handed to do, which adds its
// first statements, so that they cost no round trip of their own.
func (e *Engine) snapshot(ctx context.Context, workspace uuid.UUID, do func(*pgx.Conn, *pgx.Batch) error) error {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("get a connection: %w", err)
	}
	defer conn.Release()
	b := &pgx.Batch{}
	b.Queue("begin isolation level repeatable read read only")
	b.Queue("select set_config('magpie.workspace', $1, true), set_config('statement_timeout', $2, true)",
		workspace.String(), fmt.Sprintf("%dms", e.opt.Timeout.Milliseconds()))
	err = do(conn.Conn(), b)
	if conn.Conn().PgConn().TxStatus() != 'I' {
		// The caller's context may have ended; the pool closes the connection
		// should this fail.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, _ = conn.Exec(end, "rollback")
	}
	return err
}

// joinURL adds the place of a passage to its document's address: its page where the format has pages, as viewers of PDF
// understand it (RFC 8118), else the anchor of its heading.
func joinURL(address, anchor string, page int) string {
	if page > 0 {
		anchor = "page=" + strconv.Itoa(page)
	}
	if address == "" || anchor == "" || strings.Contains(address, "#") {
		return address
	}
	return address + "#" + anchor
}
