package search

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	readHits = hitColumns + hitJoins + ` where p.id = any($1) and ` + hitThere

	// readPlaces reads passages by their documents and ordinals, which it tells too.
	readPlaces = hitColumns + `, p.ordinal from unnest($1::uuid[], $2::int[]) w (document, ordinal)
	join passages p on p.document_id = w.document and p.ordinal = w.ordinal` + hitTables + ` where p.collection_id = $3 and ` + hitThere

	hitColumns = `select p.id, p.document_id, p.collection_id, p.headings, p.body, p.anchor, p.page,
		d.title, coalesce(d.url, ''), coalesce(d.section, ''), coalesce(d.version, ''), coalesce(d.doc_type, ''),
		coalesce(d.language, ''), d.tags, d.metadata, coalesce(d.source_updated_at, d.source_created_at),
		c.name, k.type`
	hitJoins  = ` from passages p` + hitTables
	hitTables = `
	join documents d on d.id = p.document_id
	join collections c on c.id = p.collection_id
	join connectors k on k.id = d.connector_id`
	hitThere = `d.indexed_at is not null and d.deleted_at is null and d.status <> 'DELETED' and k.deleting_at is null`
)

// read adds what is shown of passages to those that have been read. Passages
// that are gone, or whose document is not to be found any more, stay missing.
func (r *reach) read(ctx context.Context, page []rank.Ranked, read map[uuid.UUID]*Hit) error {
	hits := &r.engine.hits
	if !r.how.current { // else it is to be told what is there now
		hits.get(r.workspace, r.states, page, read)
	}
	var ids []uuid.UUID
	for i := range page {
		if read[page[i].Passage] == nil {
			ids = append(ids, page[i].Passage)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	into := func(rows pgx.Rows) error { return readRows(rows, read) }
	if !r.how.stored {
		if err := r.engine.readHits(ctx, r.workspace, into, readHits, ids); err != nil {
			return err
		}
		hits.put(r.workspace, r.states, page, read)
		return nil
	}
	for _, s := range r.stored {
		// Each sees its own moment: it tells of passages of its collection only.
		if err := s.Query(ctx, into, readHits+" and p.collection_id = $2", ids, s.Collection()); err != nil {
			return fmt.Errorf("read the results: %w", err)
		}
	}
	return nil
}

// mostAhead is how many passages of changed documents are read ahead at once.
const mostAhead = 1024

// readAhead reads those passages of changed documents anew that were shown of their
// last versions, so that not each search that finds them has to. What it does not
// read, searches will.
func (e *Engine) readAhead(ctx context.Context, scope viewer.Scope, state index.State, documents []uuid.UUID) {
	workspace, err := scope.Workspace()
	if err != nil {
		return
	}
	of, ordinals := e.hits.places(documents, mostAhead)
	if len(of) == 0 {
		return
	}
	var read []*Hit
	var at []int32
	if err := e.readHits(ctx, workspace, func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			var ordinal int32
			h, err := readRow(rows, &ordinal)
			if err != nil {
				return err
			}
			read, at = append(read, h), append(at, ordinal)
		}
		return rows.Err()
	}, readPlaces, of, ordinals, state.Collection); err != nil {
		if ctx.Err() == nil {
			e.opt.Log.WarnContext(ctx, "changed passages were not read ahead", slog.Any("collection", state.Collection), slog.Any("error", err))
		}
		return
	}
	e.hits.putAhead(workspace, &state, read, at)
}

func readRows(rows pgx.Rows, read map[uuid.UUID]*Hit) error {
	defer rows.Close()
	for rows.Next() {
		h, err := readRow(rows)
		if err != nil {
			return err
		}
		read[h.Passage] = h
	}
	return rows.Err()
}

// readRow reads a passage; what its row has beside one goes to more.
func readRow(rows pgx.Rows, more ...any) (*Hit, error) {
	h := &Hit{}
	var anchor string
	var updated *time.Time
	if err := rows.Scan(append([]any{
		&h.Passage, &h.Document, &h.Collection, &h.Headings, &h.Text, &anchor, &h.Page,
		&h.Title, &h.URL, &h.Section, &h.Version, &h.DocType, &h.Language, &h.Tags, &h.Metadata, &updated,
		&h.CollectionName, &h.Source,
	}, more...)...); err != nil {
		return nil, fmt.Errorf("read a result: %w", err)
	}
	if updated != nil {
		h.UpdatedAt = updated.UTC()
	}
	h.URL = joinURL(h.URL, anchor, h.Page)
	return h, nil
}

// readHits reads passages in a transaction of its own, in one round trip.
func (e *Engine) readHits(ctx context.Context, workspace uuid.UUID, into func(pgx.Rows) error, query string, arguments ...any) error {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("get a connection: %w", err)
	}
	defer conn.Release()
	b := &pgx.Batch{}
	b.Queue("begin read only")
	// A few rows are looked up by their keys. Before the tables have been
	// analyzed, the planner would rather read them whole, begin with the smallest
	// table, and compile the query.
	b.Queue(`select set_config('magpie.workspace', $1, true), set_config('statement_timeout', $2, true),
			set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
			set_config('jit', 'off', true), set_config('join_collapse_limit', '1', true)`,
		workspace.String(), fmt.Sprintf("%dms", e.opt.Timeout.Milliseconds()))
	b.Queue(query, arguments...).Query(into)
	b.Queue("commit")
	err = conn.SendBatch(ctx, b).Close()
	if conn.Conn().PgConn().TxStatus() != 'I' {
		// The caller's context may have ended; the pool closes the connection
		// should this fail.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, _ = conn.Exec(end, "rollback")
	}
	if err != nil {
		return fmt.Errorf("read the results: %w", err)
	}
	return nil
}

// excerpter makes of passages' texts what shows the question's terms, as HTML.
func (e *Engine) excerpter(terms []string, highlight bool) *analysis.Excerpter {
	before, after := "<mark>", "</mark>"
	if !highlight {
		before, after = "", ""
	}
	return e.analyzer.Excerpter(analysis.Marks{Terms: terms}, e.opt.SnippetRunes, before, after)
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
