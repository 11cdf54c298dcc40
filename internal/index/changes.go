package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/store/replica"
	"github.com/magpie-search/magpie/internal/viewer"
)

// changesQuery reads the rows of the function of the collection's partition one by one as they are found, each as
// one value that holds all columns: a function in a from clause would gather
// its rows in the server first.
const changesQuery = "select magpie_changes_p%d($1, $2, $3, $4, $5)"

// Changes tells r what changed in the collection of a state after a position, as one
// moment of the database has it: documents that searches can find complete with
// their passages, in the order of their ids, and the others as not live. From the
// zero position, or one of another generation, every document that searches can
// find is told and nothing else. It holds a connection and a snapshot of the
// database until r has taken everything.
//
// Of the state, Changes uses the collection and the position that it must reach: at
// least the required change, and one after the reader's position if there is one. A
// replica that has not replayed it is not read. If a replica fails, r is begun again.
//
// A collection that is gone or out of reach is viewer.ErrOutOfScope, and r is
// not called; errors of r are returned as they are.
func (s *Store) Changes(ctx context.Context, scope viewer.Scope, state State, after Position, r ChangeReader) error {
	narrow, err := scope.Narrow(state.Collection)
	if err != nil {
		return fmt.Errorf("read changes: %w", err)
	}
	workspace, err := narrow.Workspace()
	if err != nil {
		return fmt.Errorf("read changes: %w", err)
	}
	err = s.readers.Do(ctx, func(ctx context.Context) error { return s.changes(ctx, workspace, &state, after, r) })
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

func (s *Store) changes(ctx context.Context, workspace uuid.UUID, state *State, after Position, r ChangeReader) error {
	var m moment
	conn, err := s.readers.Acquire(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		switch err := m.begin(ctx, conn.Conn(), workspace, state.Collection); {
		case errors.Is(err, viewer.ErrOutOfScope), err == nil && m.isBefore(state, after):
			return replica.ErrBehind
		default:
			return err
		}
	})
	if err != nil {
		return err
	}
	defer conn.Release(ctx)
	if !conn.IsReplica() {
		if err := m.begin(ctx, conn.Conn.Conn(), workspace, state.Collection); err != nil {
			return err
		}
	}
	all := after == Position{} || after.Generation != m.at.Generation
	if err := r.Begin(m.at, m.model, all); err != nil {
		return &readerError{err}
	}
	var from *int64
	if !all {
		if from = &after.Change; after.Change >= m.at.Change {
			return nil
		}
	}
	rows, err := conn.Query(ctx, fmt.Sprintf(changesQuery, m.part), pgx.QueryResultFormats{pgx.BinaryFormatCode}, workspace, state.Collection, m.model, from, m.apart)
	if err != nil {
		return conn.Fault(ctx, fmt.Errorf("ask for changes: %w", err))
	}
	defer rows.Close()
	if err = tell(rows, r); errors.As(err, new(*readerError)) {
		return err
	}
	return conn.Fault(ctx, err)
}

// readerError is an error of the reader's, which is passed on.
type readerError struct{ error }

// A moment is the state of a collection in a transaction that sees one moment of the
// database.
type moment struct {
	at    Position
	model string
	apart bool // vectors of the model may stand in passage_vectors
	part  int  // the partition that the collection is in
}

// begin begins the transaction.
func (m *moment) begin(ctx context.Context, conn *pgx.Conn, workspace, collection uuid.UUID) error {
	b := &pgx.Batch{}
	b.Queue("begin isolation level repeatable read read only")
	// The function's rows are read one by one, so that nothing is gained by
	// compiling it or by plans that gather rows first.
	b.Queue("select set_config('magpie.workspace', $1, true), set_config('jit', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)",
		workspace.String())
	b.Queue(`select c.embedding_model, coalesce(s.generation, 0), coalesce(s.change_number, 0), coalesce(s.stale, false), magpie_part(c.id)
		from collections c left join collection_state s on s.collection_id = c.id
		where c.id = $1 and c.workspace_id = $2 and c.deleting_at is null`, collection, workspace).
		QueryRow(func(row pgx.Row) error { return row.Scan(&m.model, &m.at.Generation, &m.at.Change, &m.apart, &m.part) })
	err := run(ctx, conn, b, "read the state")
	if errors.Is(err, pgx.ErrNoRows) {
		return viewer.ErrOutOfScope
	}
	return err
}

// isBefore reports whether the moment is before what a reader at a position must reach.
func (m *moment) isBefore(state *State, after Position) bool {
	if !state.ReachedBy(m.at) {
		return true
	}
	// There are changes after the position, and none of them is in the moment.
	return after.Generation == m.at.Generation && m.at.Change <= after.Change && m.at.Change < state.Change
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
