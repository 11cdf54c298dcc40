package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/viewer"
)

// A ChangePage asks for some documents of a collection, in the order of their newest
// changes.
type ChangePage struct {
	After FeedPosition
	Until FeedPosition // the last position; the zero position for no end
	// Documents is the most documents, and Passages the number of passages after which no
	// further document is read.
	Documents, Passages int
	// Bare leaves out lexemes and vectors.
	Bare bool
}

// A PageEnd says what a page had.
type PageEnd struct {
	At        Position // the moment at which it was read
	Documents int
	Last      FeedPosition // of the last document
	// IsComplete says that at the moment there was no other document.
	IsComplete bool
}

// ChangePage tells r the documents of a page as one moment of the database has them, those
// that searches do not find as not live. They come in the order of their ids, not
// of their changes. It holds a connection of the primary until r has taken everything. A
// collection that is gone or out of reach is viewer.ErrOutOfScope; errors of r are
// returned as they are.
func (s *Store) ChangePage(ctx context.Context, scope viewer.Scope, collection uuid.UUID, page ChangePage, r ChangeReader) (end PageEnd, err error) {
	err = s.tellMoment(ctx, scope, collection, page.Bare, r, func(conn *pgx.Conn, workspace uuid.UUID, m *moment) ([]uuid.UUID, error) {
		end = PageEnd{At: m.at}
		documents, err := end.read(ctx, conn, workspace, collection, &page)
		return documents, err
	})
	if err != nil {
		return PageEnd{}, err
	}
	return end, nil
}

// Entries tells r some documents of a collection as ChangePage does. Documents that do
// not exist, or are not of the collection, are told as not live.
func (s *Store) Entries(ctx context.Context, scope viewer.Scope, collection uuid.UUID, documents []uuid.UUID, bare bool, r ChangeReader) error {
	return s.tellMoment(ctx, scope, collection, bare, r, func(*pgx.Conn, uuid.UUID, *moment) ([]uuid.UUID, error) {
		return documents, nil
	})
}

// tellMoment tells r the documents that choose returns at a moment of the database.
func (s *Store) tellMoment(ctx context.Context, scope viewer.Scope, collection uuid.UUID, bare bool, r ChangeReader,
	choose func(*pgx.Conn, uuid.UUID, *moment) ([]uuid.UUID, error),
) error {
	workspace, err := only(scope, collection)
	if err != nil {
		return fmt.Errorf("read documents: %w", err)
	}
	err = s.inTransaction(ctx, func(conn *pgx.Conn) error {
		var m moment
		if err := m.begin(ctx, conn, workspace, collection); err != nil {
			return err
		}
		documents, err := choose(conn, workspace, &m)
		if err != nil {
			return err
		}
		if err := r.Begin(m.at, m.model, false); err != nil {
			return &readerError{err}
		}
		if len(documents) == 0 {
			return nil
		}
		rows, err := conn.Query(ctx, "select magpie_entries($1, $2, $3, $4, $5, $6)", pgx.QueryResultFormats{pgx.BinaryFormatCode},
			workspace, collection, m.model, documents, m.apart, !bare)
		if err != nil {
			return fmt.Errorf("ask for documents: %w", err)
		}
		defer rows.Close()
		return tell(rows, r)
	})
	var own *readerError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own.error
	default:
		return fmt.Errorf("read documents: %w", readable(err))
	}
}

// read returns the documents of a page, and notes where it ends.
func (e *PageEnd) read(ctx context.Context, conn *pgx.Conn, workspace, collection uuid.UUID, page *ChangePage) ([]uuid.UUID, error) {
	var until *int64
	if page.Until != (FeedPosition{}) {
		until = &page.Until.Number
	}
	// One more tells whether the page is the last one.
	rows, err := conn.Query(ctx, `select x.change_number, x.document_id, coalesce(d.passage_count, 0)
		from (
			select change_number, document_id from document_changes
			where collection_id = $1 and workspace_id = $2 and (change_number, document_id) > ($3, $4)
				and ($5::bigint is null or (change_number, document_id) <= ($5, $6))
			order by change_number, document_id limit $7
		) x
		left join documents d on d.id = x.document_id and d.deleted_at is null
		order by x.change_number, x.document_id`,
		collection, workspace, page.After.Number, page.After.Document, until, page.Until.Document, page.Documents+1)
	if err != nil {
		return nil, fmt.Errorf("ask for changed documents: %w", err)
	}
	var documents []uuid.UUID
	var at FeedPosition
	var count, passages int
	full := false
	if _, err := pgx.ForEachRow(rows, []any{&at.Number, &at.Document, &count}, func() error {
		if full = full || len(documents) == page.Documents || passages >= page.Passages; full {
			return nil
		}
		passages += count
		documents, e.Last = append(documents, at.Document), at
		return nil
	}); err != nil {
		return nil, fmt.Errorf("ask for changed documents: %w", err)
	}
	e.Documents, e.IsComplete = len(documents), !full
	return documents, nil
}

// SampleDocuments returns some documents of a collection whose newest change is at most a
// change number: those whose ids follow each of the starts, at most each of them.
func (s *Store) SampleDocuments(ctx context.Context, scope viewer.Scope, collection uuid.UUID, change int64, starts []uuid.UUID, each int) ([]uuid.UUID, error) {
	workspace, err := only(scope, collection)
	if err != nil {
		return nil, fmt.Errorf("sample documents: %w", err)
	}
	rows, err := s.pool.Query(ctx, `select y.document_id from unnest($3::uuid[]) u (start) cross join lateral (
			select document_id from document_changes
			where collection_id = $1 and workspace_id = $2 and document_id >= u.start and change_number <= $4
			order by document_id limit $5
		) y`, collection, workspace, starts, change, each)
	if err != nil {
		return nil, fmt.Errorf("sample documents: %w", readable(err))
	}
	documents, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("sample documents: %w", readable(err))
	}
	slices.SortFunc(documents, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(documents), nil
}
