package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/viewer"
)

// statesQuery reads the states of a reach; oldestQuery says in each row, too,
// which collection is the oldest of another reach.
const (
	statesQuery = statesColumns + statesRows
	oldestQuery = statesColumns + `,
			(select o.id from collections o where o.workspace_id = $4 and ($5 or o.id = any($6)) and o.deleting_at is null
				order by o.created_at, o.id limit 1)` + statesRows

	statesColumns = `select c.id, c.name, c.embedding_model, coalesce(s.generation, 0), coalesce(s.change_number, 0),
			coalesce(s.required_number, 0), coalesce(s.documents, 0), coalesce(s.passages, 0), coalesce(s.words, 0),
			exists (select from documents d where d.collection_id = c.id and d.readers is not null),
			case when exists (select from connectors k where k.workspace_id = c.workspace_id and k.collection_id = c.id and k.closed) then array(
				select k.id::text from connectors k where k.workspace_id = c.workspace_id and k.collection_id = c.id and not k.closed) end,
			exists (select from search_indexes x where x.collection_id = c.id)`
	statesRows = `
		from collections c left join collection_state s on s.collection_id = c.id
		where c.workspace_id = $1 and ($2 or c.id = any($3)) and c.deleting_at is null order by c.id`
)

// States returns the state of every collection in reach, ordered by id, in one
// statement. A collection that nothing was ever written to has zeros.
func (s *Store) States(ctx context.Context, scope viewer.Scope) ([]State, error) {
	within, err := reachOf(scope)
	if err != nil {
		return nil, err
	}
	return s.states(ctx, nil, statesQuery, within.arguments()...)
}

// StatesAndOldest is States that also says, of the same moment and in the same
// statement, which collection within another scope is the oldest. That is
// uuid.Nil where there is none, and where it is not known because there are no
// states.
func (s *Store) StatesAndOldest(ctx context.Context, scope, among viewer.Scope) ([]State, uuid.UUID, error) {
	within, err := reachOf(scope)
	if err != nil {
		return nil, uuid.Nil, err
	}
	other, err := reachOf(among)
	if err != nil {
		return nil, uuid.Nil, err
	}
	var oldest *uuid.UUID
	states, err := s.states(ctx, []any{&oldest}, oldestQuery, append(within.arguments(), other.arguments()...)...)
	if err != nil || oldest == nil {
		return states, uuid.Nil, err
	}
	return states, *oldest, nil
}

// states reads states; what a row has beside one goes to more.
func (s *Store) states(ctx context.Context, more []any, query string, arguments ...any) ([]State, error) {
	rows, err := s.pool.Query(ctx, query, arguments...)
	if err != nil {
		return nil, fmt.Errorf("read the states of collections: %w", readable(err))
	}
	states, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v State, err error) {
		err = row.Scan(append([]any{&v.Collection, &v.Name, &v.Model, &v.Generation, &v.Change, &v.Required,
			&v.Documents, &v.Passages, &v.Words, &v.Restricted, &v.Open, &v.Indexed}, more...)...)
		return v, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the states of collections: %w", readable(err))
	}
	return states, nil
}

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
// A collection that is gone or out of reach is viewer.ErrOutOfReach, and r is
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
		err = viewer.ErrOutOfReach
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
