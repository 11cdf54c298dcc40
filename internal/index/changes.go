package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/viewer"
)

// changesQuery reads the function's rows one by one as they are found, each as
// one value that holds all columns: a function in a from clause would gather
// its rows in the server first.
const changesQuery = "select magpie_changes($1, $2, $3, $4, $5)"

// Changes tells r what changed in a collection after a position, as one moment
// of the database has it: documents that searches can find complete with their
// passages, in the order of their ids, and the others as not live. From the
// zero position, or one of another generation, every document that searches can
// find is told and nothing else. It holds a connection and a snapshot of the
// database until r has taken everything.
//
// A collection that is gone or out of reach is viewer.ErrOutOfScope, and r is
// not called; errors of r are returned as they are.
func (s *Store) Changes(ctx context.Context, scope viewer.Scope, collection uuid.UUID, after Position, r ChangeReader) error {
	narrow, err := scope.Narrow(collection)
	if err != nil {
		return fmt.Errorf("read changes: %w", err)
	}
	workspace, err := narrow.Workspace()
	if err != nil {
		return fmt.Errorf("read changes: %w", err)
	}
	err = s.inTransaction(ctx, func(conn *pgx.Conn) error {
		at, model, apart, err := moment(ctx, conn, workspace, collection)
		if err != nil {
			return err
		}
		all := after == Position{} || after.Generation != at.Generation
		if err := r.Begin(at, model, all); err != nil {
			return &readerError{err}
		}
		var from *int64
		if !all {
			if from = &after.Change; after.Change >= at.Change {
				return nil // the caller's transaction is rolled back
			}
		}
		rows, err := conn.Query(ctx, changesQuery, pgx.QueryResultFormats{pgx.BinaryFormatCode}, workspace, collection, model, from, apart)
		if err != nil {
			return fmt.Errorf("ask for changes: %w", err)
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
		return fmt.Errorf("read changes: %w", readable(err))
	}
}

// readerError is an error of the reader's, which is passed on.
type readerError struct{ error }

// moment opens a transaction that sees one moment of the database and says
// which one it is for a collection.
func moment(ctx context.Context, conn *pgx.Conn, workspace, collection uuid.UUID) (at Position, model string, apart bool, err error) {
	b := &pgx.Batch{}
	b.Queue("begin isolation level repeatable read read only")
	// The function's rows are read one by one, so that nothing is gained by
	// compiling it or by plans that gather rows first.
	b.Queue("select set_config('magpie.workspace', $1, true), set_config('jit', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)",
		workspace.String())
	b.Queue(`select c.embedding_model, coalesce(s.generation, 0), coalesce(s.change_number, 0), coalesce(s.stale, false)
		from collections c left join collection_state s on s.collection_id = c.id
		where c.id = $1 and c.workspace_id = $2 and c.deleting_at is null`, collection, workspace).
		QueryRow(func(row pgx.Row) error { return row.Scan(&model, &at.Generation, &at.Change, &apart) })
	err = run(ctx, conn, b, "read the state")
	if errors.Is(err, pgx.ErrNoRows) {
		err = viewer.ErrOutOfScope
	}
	return at, model, apart, err
}

// tell passes the rows on, document by document.
func tell(rows pgx.Rows, r ChangeReader) error {
	var d entryDecoder
	for rows.Next() {
		raw := rows.RawValues()
		if len(raw) != 1 {
			return errRow
		}
		var columns changeRow
		if err := columns.split(raw[0]); err != nil {
			return err
		}
		if d.begun && !d.same(&columns) {
			if err := d.flush(r); err != nil {
				return err
			}
		}
		if err := d.add(&columns); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the rows: %w", err)
	}
	if d.begun {
		return d.flush(r)
	}
	return nil
}
