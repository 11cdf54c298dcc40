package index

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Content returns the whole text of a document as Markdown, "" for one that has
// none yet. A document that is deleted, out of reach or not for the viewer in ctx is not found.
func (s *Store) Content(ctx context.Context, scope viewer.Scope, document uuid.UUID) (string, error) {
	return s.text(ctx, scope, document, "coalesce(t.body, '')")
}

// Summary returns the kept summary of a document, "" when there is none. A
// document that is deleted or out of reach is not found.
func (s *Store) Summary(ctx context.Context, scope viewer.Scope, document uuid.UUID) (string, error) {
	return s.text(ctx, scope, document, "coalesce(t.summary, '')")
}

func (s *Store) text(ctx context.Context, scope viewer.Scope, document uuid.UUID, column string) (string, error) {
	within, err := reachOf(scope)
	if err != nil {
		return "", err
	}
	everything, principals, err := readersOf(ctx)
	if err != nil {
		return "", err
	}
	var text string
	err = s.inTransaction(ctx, func(conn *pgx.Conn) error {
		b := &pgx.Batch{}
		begin(b, within.workspace)
		b.Queue(`select `+column+` from documents d left join document_texts t on t.collection_id = d.collection_id and t.document_id = d.id
			where d.id = $1 and d.workspace_id = $2 and ($3 or d.collection_id = any($4)) and d.deleted_at is null`+mayRead(5),
			document, within.workspace, within.all, within.collections, everything, principals).
			QueryRow(func(row pgx.Row) error { return row.Scan(&text) })
		b.Queue("commit")
		return run(ctx, conn, b, "read a document's text")
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return "", apierr.NotFound("Document")
	}
	if err != nil {
		return "", readable(err)
	}
	hidden, err := hiddenOf(ctx, []uuid.UUID{document})
	switch {
	case err != nil:
		return "", err
	case hidden[document]:
		return "", apierr.NotFound("Document")
	}
	return text, nil
}

// SetSummary keeps a summary of a document's present text. A document that is
// deleted, has no text yet or is out of reach is not found.
func (s *Store) SetSummary(ctx context.Context, scope viewer.Scope, document uuid.UUID, summary string) error {
	within, err := reachOf(scope)
	if err != nil {
		return err
	}
	everything, principals, err := readersOf(ctx)
	if err != nil {
		return err
	}
	return s.write(ctx, func(conn *pgx.Conn) error {
		var changed int64
		b := &pgx.Batch{}
		beginWrite(b, within.workspace)
		b.Queue(`update document_texts t set summary = $5 from documents d
			where t.collection_id = d.collection_id and t.document_id = d.id and d.id = $1 and d.workspace_id = $2 and ($3 or d.collection_id = any($4))
				and d.deleted_at is null`+mayRead(6),
			document, within.workspace, within.all, within.collections, clean(summary), everything, principals).
			Exec(func(tag pgconn.CommandTag) error { changed = tag.RowsAffected(); return nil })
		b.Queue("commit")
		if err := run(ctx, conn, b, "keep a summary"); err != nil {
			return err
		}
		if changed == 0 {
			return apierr.NotFound("Document")
		}
		return nil
	})
}
