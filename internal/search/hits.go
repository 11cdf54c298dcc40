package search

import (
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

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/postgres"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/store/replica"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	hitsByID = hitColumns + hitJoins + ` where p.id = any($1) and p.collection_id = any($2) and ` + hitIsLive

	// hitsByOrdinal reads passages by document and ordinal, which follows the other columns.
	hitsByOrdinal = hitColumns + `, p.ordinal from unnest($1::uuid[], $2::int[]) w (document, ordinal)
	join passages p on p.document_id = w.document and p.ordinal = w.ordinal` + hitTables + ` where p.collection_id = $3 and ` + hitIsLive

	hitColumns = `select p.id, p.document_id, p.collection_id, p.headings, p.body, p.anchor, p.page, p.sections,
		d.title, coalesce(d.url, ''), coalesce(d.section, ''), coalesce(d.version, ''), coalesce(d.doc_type, ''),
		coalesce(d.language, ''), d.tags, d.metadata, coalesce(d.source_updated_at, d.source_created_at),
		c.name, k.type`
	hitJoins  = ` from passages p` + hitTables
	hitTables = `
	join documents d on d.id = p.document_id
	join collections c on c.id = p.collection_id
	join connectors k on k.id = d.connector_id`
	hitIsLive = `d.indexed_at is not null and d.deleted_at is null and d.status <> 'DELETED' and k.deleting_at is null`
)

// read adds the hits of a page to hits. Passages that were deleted, or whose document can
// no longer be found, have no hit.
func (s *searcher) read(ctx context.Context, page []rank.Result, hits map[uuid.UUID]*Hit) error {
	cache := &s.engine.hits
	if !s.opt.current {
		cache.get(s.workspace, s.states, page, hits)
	}
	missing := make([]rank.Result, 0, len(page))
	for i := range page {
		if hits[page[i].Passage] == nil {
			missing = append(missing, page[i])
		}
	}
	scan := func(rows pgx.Rows) error { return scanHits(rows, hits) }
	if err := s.readRows(ctx, missing, func(r *rank.Result) uuid.UUID { return r.Passage }, scan, hitsByID, s.collectionsOf(missing)); err != nil {
		return err
	}
	if len(missing) > 0 && !s.opt.storedOnly {
		cache.put(s.workspace, s.states, page, hits)
	}
	return nil
}

// collectionsOf returns the collections of results.
func (s *searcher) collectionsOf(results []rank.Result) []uuid.UUID {
	var collections []uuid.UUID
	for i := range results {
		if id := s.states[results[i].Part].Collection; !slices.Contains(collections, id) {
			collections = append(collections, id)
		}
	}
	return collections
}

// readRows runs a query, whose first argument it fills with the ids of results. Those of a
// stored collection it reads in the transaction that the search holds, so that no search
// waits for a second connection while it has one, and the others together in a transaction of
// their own. scan may be called again for rows that it has got.
func (s *searcher) readRows(ctx context.Context, results []rank.Result, id func(*rank.Result) uuid.UUID, scan func(pgx.Rows) error, query string, arguments ...any) error {
	var resident []uuid.UUID
	stored := make(map[*postgres.Source][]uuid.UUID)
	for i := range results {
		r := &results[i]
		if source, ok := s.parts[r.Part].Source.(*postgres.Source); ok {
			stored[source] = append(stored[source], id(r))
		} else {
			resident = append(resident, id(r))
		}
	}
	for source, ids := range stored {
		if err := source.Query(ctx, scan, query, append([]any{ids}, arguments...)...); err != nil {
			return fmt.Errorf("read the results: %w", err)
		}
	}
	if len(resident) == 0 {
		return nil
	}
	return s.engine.queryHits(ctx, s.workspace, s.positions(), scan, query, append([]any{resident}, arguments...)...)
}

// maxRefresh is the largest number of passages that refreshHits reads.
const maxRefresh = 1024

// refreshHits reads the new versions of cached hits of changed documents, so that the next
// searches find them in the cache. Searches read the hits that it does not read.
func (e *Engine) refreshHits(ctx context.Context, scope viewer.Scope, state index.State, documents []uuid.UUID) {
	workspace, err := scope.Workspace()
	if err != nil {
		return
	}
	owners, ordinals := e.hits.ordinals(documents, maxRefresh)
	if len(owners) == 0 {
		return
	}
	var hits []*Hit
	var hitOrdinals []int32
	if err := e.queryHits(ctx, workspace, nil, func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			var ordinal int32
			h, err := scanHit(rows, &ordinal)
			if err != nil {
				return err
			}
			hits, hitOrdinals = append(hits, h), append(hitOrdinals, ordinal)
		}
		return rows.Err()
	}, hitsByOrdinal, owners, ordinals, state.Collection); err != nil {
		if ctx.Err() == nil {
			e.opt.Log.WarnContext(ctx, "hit cache not refreshed", slog.Any("collection", state.Collection), slog.Any("error", err))
		}
		return
	}
	e.hits.putRefreshed(workspace, &state, hits, hitOrdinals)
}

func scanHits(rows pgx.Rows, hits map[uuid.UUID]*Hit) error {
	defer rows.Close()
	for rows.Next() {
		h, err := scanHit(rows)
		if err != nil {
			return err
		}
		hits[h.Passage] = h
	}
	return rows.Err()
}

// scanHit scans a hit, and further columns into more.
func scanHit(rows pgx.Rows, more ...any) (*Hit, error) {
	h := &Hit{}
	var anchor string
	var updated *time.Time
	if err := rows.Scan(append([]any{
		&h.Passage, &h.Document, &h.Collection, &h.Headings, &h.Text, &anchor, &h.Page, &h.sections,
		&h.Title, &h.URL, &h.Section, &h.Version, &h.DocType, &h.Language, &h.Tags, &h.Metadata, &updated,
		&h.CollectionName, &h.Source,
	}, more...)...); err != nil {
		return nil, fmt.Errorf("scan a result: %w", err)
	}
	if updated != nil {
		h.UpdatedAt = updated.UTC()
	}
	h.address = h.URL
	h.URL = withFragment(h.address, anchor, h.Page)
	return h, nil
}

// positions returns the position of each resident collection; nil if there are no replicas
// that must have reached it.
func (s *searcher) positions() map[uuid.UUID]index.Position {
	if !s.engine.readers.HasReplicas() {
		return nil
	}
	out := make(map[uuid.UUID]index.Position, len(s.collections))
	for i := range s.collections {
		if c := &s.collections[i]; c.snapshot != nil {
			out[c.state.Collection] = c.snapshot.Position
		}
	}
	return out
}

// reachedQuery tells whether the database has collections at positions or after them.
const reachedQuery = `select not exists (select from unnest($1::uuid[], $2::bigint[], $3::bigint[]) w (collection, generation, change)
	left join collection_state s on s.collection_id = w.collection
	where coalesce(s.generation, 0) < w.generation or coalesce(s.change_number, 0) < w.change)`

// queryHits runs a query in a transaction of its own, in one round trip. A replica is read
// if it has reached the positions, and never if they are nil. scan may be called for rows of
// a replica that fails, and again for all rows of the primary.
func (e *Engine) queryHits(ctx context.Context, workspace uuid.UUID, positions map[uuid.UUID]index.Position, scan func(pgx.Rows) error, query string, arguments ...any) error {
	read := func(ctx context.Context, conn *pgxpool.Conn, isReplica bool) error {
		b := &pgx.Batch{}
		b.Queue("begin read only")
		// A few rows are looked up by their keys. Before the tables are analyzed, the planner
		// would scan whole tables, start with the smallest one, and compile the query.
		b.Queue(`select set_config('magpie.workspace', $1, true), set_config('statement_timeout', $2, true),
			set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
			set_config('jit', 'off', true), set_config('join_collapse_limit', '1', true)`,
			workspace.String(), fmt.Sprintf("%dms", e.opt.Timeout.Milliseconds()))
		reached := true
		if isReplica {
			var collections []uuid.UUID
			var generations, changes []int64
			for id, p := range positions {
				collections, generations, changes = append(collections, id), append(generations, p.Generation), append(changes, p.Change)
			}
			b.Queue(reachedQuery, collections, generations, changes).QueryRow(func(row pgx.Row) error { return row.Scan(&reached) })
		}
		b.Queue(query, arguments...).Query(func(rows pgx.Rows) error {
			if !reached {
				return replica.ErrBehind
			}
			return scan(rows)
		})
		b.Queue("commit")
		return conn.SendBatch(ctx, b).Close()
	}
	readers := e.readers
	if positions == nil {
		readers = e.primary
	}
	if err := readers.Read(ctx, read); err != nil {
		return fmt.Errorf("read the results: %w", err)
	}
	return nil
}

// withFragment adds the place of a passage to the address of its document: the page in the
// form of RFC 8118 (PDF) if the format has pages, else the anchor of the heading.
func withFragment(address, anchor string, page int) string {
	if page > 0 {
		anchor = "page=" + strconv.Itoa(page)
	}
	if address == "" || anchor == "" || strings.Contains(address, "#") {
		return address
	}
	return address + "#" + anchor
}
