package doctor

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/humanize"
	"github.com/magpie-search/magpie/internal/system"
)

// An EngineNode is a node of the search engine.
type EngineNode struct {
	Name, Version string
	Healthy       bool
}

// engine checks the search engine of ENGINE_URL, and what it has of the collections.
func (r *report) engine(ctx context.Context) {
	if len(r.Config.EngineURLs()) == 0 || r.Engine == nil {
		return
	}
	nodes, err := r.Engine(ctx)
	if err != nil {
		r.fail("The search engine cannot be reached: %s", "Start it, or correct ENGINE_URL. Meanwhile PostgreSQL searches its collections.", firstLine(err))
		return
	}
	var away []string
	for _, n := range nodes {
		if !n.Healthy {
			away = append(away, n.Name)
		}
	}
	switch {
	case len(nodes) == 0:
		r.fail("The search engine has no node.", "Correct ENGINE_URL.")
		return
	case len(away) > 0:
		r.warn("%d of %d nodes of the search engine do not run: %s.", "Start them. The engine confirms no changes until all run.", len(away), len(nodes), strings.Join(away, ", "))
	default:
		r.ok("The search engine runs on %s of version %s.", Known(humanize.Count(len(nodes), "node")), nodes[0].Version)
	}
	r.projections(ctx)
}

// projections checks how far the collections are in the search engine.
func (r *report) projections(ctx context.Context) {
	conn, err := pgx.Connect(ctx, r.Config.DatabaseURL.Reveal())
	if err != nil {
		return // another check says so
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var ready, building, failing int
	var behind float64
	err = conn.QueryRow(ctx, `select count(*) filter (where state = 'READY'), count(*) filter (where state = 'BUILDING'),
			count(*) filter (where state = 'FAILED' or last_error is not null),
			coalesce(extract(epoch from max(now() - behind_since) filter (where state = 'READY')), 0)::float8
		from engine_collections`).Scan(&ready, &building, &failing, &behind)
	lag := time.Duration(behind * float64(time.Second))
	switch {
	case err != nil:
		return // the schema is older, as another check says
	case failing > 0:
		r.warn("%d of the collections of the search engine cannot be sent to it.", "The log of the workers has the reason.", failing)
	case lag > system.MaxEngineLag:
		r.warn("The search engine has not confirmed changes for %s.", "Look whether a worker and all nodes of the engine run.", Known(humanize.Duration(lag)))
	default:
		r.ok("%s in the search engine, and %d on the way.", Known(humanize.Count(ready, "collection")), building)
	}
}
