package index

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A StoredPassage is a passage of a document, for people to read.
type StoredPassage struct {
	ID, Document uuid.UUID
	Ordinal      int      // from 0, in the order of the text
	Headings     []string // above it, the highest first
	Text         string   // Markdown
	Anchor       string   // of the heading above it; "" for none
	Page         int      // 0 in formats without pages
}

// A PassageRange is a part of the passages of a document: those after an ordinal,
// at most First. After is -1 for the beginning.
type PassageRange struct{ After, First int }

const passageColumns = "p.id, p.document_id, p.ordinal, p.headings, p.body, p.anchor, p.page" //nolint:gosec // columns, no credentials

func scanPassage(row pgx.CollectableRow) (p StoredPassage, err error) {
	err = row.Scan(&p.ID, &p.Document, &p.Ordinal, &p.Headings, &p.Text, &p.Anchor, &p.Page)
	return p, err
}

// Passages returns a range of the passages of each document, in order, in one
// transaction. A document without passages has an empty list. Documents that are
// deleted, out of reach or not for the viewer in ctx are missing.
func (s *Store) Passages(ctx context.Context, scope viewer.Scope, documents []uuid.UUID, r PassageRange) (map[uuid.UUID][]StoredPassage, error) {
	within, err := reachOf(scope)
	if err != nil {
		return nil, err
	}
	everything, principals, err := readersOf(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[uuid.UUID][]StoredPassage, len(documents))
	err = s.inTransaction(ctx, func(conn *pgx.Conn) error {
		const readable = ` from documents d
			where d.id = any($1) and d.workspace_id = $2 and ($3 or d.collection_id = any($4)) and d.deleted_at is null`
		b := &pgx.Batch{}
		begin(b, within.workspace)
		b.Queue("select d.id"+readable+mayRead(5), documents, within.workspace, within.all, within.collections, everything, principals).
			Query(func(rows pgx.Rows) error {
				var id uuid.UUID
				_, err := pgx.ForEachRow(rows, []any{&id}, func() error { found[id] = []StoredPassage{}; return nil })
				return err
			})
		b.Queue("select "+passageColumns+" from (select d.id, d.collection_id"+readable+mayRead(5)+`) d
			cross join lateral (select * from passages where collection_id = d.collection_id and document_id = d.id and ordinal > $7 order by ordinal limit $8) p
			order by p.document_id, p.ordinal`,
			documents, within.workspace, within.all, within.collections, everything, principals, r.After, r.First).
			Query(func(rows pgx.Rows) error {
				all, err := pgx.CollectRows(rows, scanPassage)
				for _, p := range all {
					found[p.Document] = append(found[p.Document], p)
				}
				return err
			})
		b.Queue("commit")
		return run(ctx, conn, b, "read the passages of documents")
	})
	if err != nil {
		return nil, readable(err)
	}
	return found, deleteHidden(ctx, found)
}

// Passage returns a passage with up to around passages before it and after it, in
// order. A passage that does not exist any more, or whose document is deleted, out
// of reach or not for the viewer in ctx, is not found.
func (s *Store) Passage(ctx context.Context, scope viewer.Scope, id uuid.UUID, around int) (before []StoredPassage, p StoredPassage, after []StoredPassage, err error) {
	within, err := reachOf(scope)
	if err != nil {
		return nil, p, nil, err
	}
	everything, principals, err := readersOf(ctx)
	if err != nil {
		return nil, p, nil, err
	}
	var all []StoredPassage
	err = s.inTransaction(ctx, func(conn *pgx.Conn) error {
		b := &pgx.Batch{}
		begin(b, within.workspace)
		b.Queue("select "+passageColumns+` from passages o join documents d on d.id = o.document_id
			join passages p on p.collection_id = o.collection_id and p.document_id = o.document_id and p.ordinal between o.ordinal - $5 and o.ordinal + $5
			where o.id = $1 and d.workspace_id = $2 and ($3 or d.collection_id = any($4)) and d.deleted_at is null`+mayRead(6)+`
			order by p.ordinal`, id, within.workspace, within.all, within.collections, around, everything, principals).
			Query(func(rows pgx.Rows) error {
				all, err = pgx.CollectRows(rows, scanPassage)
				return err
			})
		b.Queue("commit")
		return run(ctx, conn, b, "read a passage")
	})
	if err != nil {
		return nil, p, nil, readable(err)
	}
	for i := range all {
		if all[i].ID == id {
			hidden, err := hiddenOf(ctx, []uuid.UUID{all[i].Document})
			if err != nil {
				return nil, p, nil, err
			}
			if hidden[all[i].Document] {
				break
			}
			return all[:i], all[i], all[i+1:], nil
		}
	}
	return nil, p, nil, apierr.NotFound("Passage")
}
