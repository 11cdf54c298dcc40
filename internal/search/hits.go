package search

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const readHits = `select p.id, p.document_id, p.collection_id, p.headings, p.body, p.anchor, p.page,
		d.title, coalesce(d.url, ''), coalesce(d.section, ''), coalesce(d.version, ''), coalesce(d.doc_type, ''),
		coalesce(d.language, ''), d.tags, d.metadata, coalesce(d.source_updated_at, d.source_created_at),
		c.name, k.type
	from passages p
	join documents d on d.id = p.document_id
	join collections c on c.id = p.collection_id
	join connectors k on k.id = d.connector_id
	where p.id = any($1)`

// hits reads what is shown of a page of candidates and ends the transaction.
func (e *Engine) hits(ctx context.Context, conn *pgx.Conn, page []*candidate, asked *question, highlight bool) ([]Hit, error) {
	ids := make([]uuid.UUID, len(page))
	for i, c := range page {
		ids[i] = c.passage
	}
	read := make(map[uuid.UUID]Hit, len(page))
	b := &pgx.Batch{}
	b.Queue(readHits, ids).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			var h Hit
			var anchor string
			var updated *time.Time
			if err := rows.Scan(&h.Passage, &h.Document, &h.Collection, &h.Headings, &h.Text, &anchor, &h.Page,
				&h.Title, &h.URL, &h.Section, &h.Version, &h.DocType, &h.Language, &h.Tags, &h.Metadata, &updated,
				&h.CollectionName, &h.Source); err != nil {
				return fmt.Errorf("read a result: %w", err)
			}
			if updated != nil {
				h.UpdatedAt = updated.UTC()
			}
			h.URL = joinURL(h.URL, anchor, h.Page)
			read[h.Passage] = h
		}
		return rows.Err()
	})
	b.Queue("commit")
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	hits := make([]Hit, 0, len(page))
	for _, c := range page {
		h, ok := read[c.passage]
		if !ok {
			return nil, fmt.Errorf("passage %s is in the index and nowhere else", c.passage)
		}
		h.Score = c.score
		h.Snippet = e.snippet(&h, asked, highlight)
		hits = append(hits, h)
	}
	return hits, nil
}

func (e *Engine) snippet(h *Hit, asked *question, highlight bool) string {
	window := e.analyzer.Snippet(h.Text, asked.terms, h.Language, e.opt.SnippetRunes)
	if !highlight {
		return e.analyzer.Highlight(window, nil, h.Language, "", "")
	}
	return e.analyzer.Highlight(window, asked.terms, h.Language, "<mark>", "</mark>")
}
