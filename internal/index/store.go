package index

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/replica"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Store writes and reads the index. It is safe for concurrent use.
type Store struct {
	pool     *pgxpool.Pool
	readers  *replica.Readers // of Changes
	analyzer *analysis.Analyzer
	groups   *groups // of documents that are put
}

// New makes a Store on the application's pool (internal/store). The analyzer
// must be the kind that queries are analyzed with.
func New(pool *pgxpool.Pool, a *analysis.Analyzer) *Store {
	return &Store{pool: pool, readers: replica.Primary(pool), analyzer: a, groups: newGroups()}
}

// ReadFrom returns a Store whose Changes uses the readers.
func (s *Store) ReadFrom(readers *replica.Readers) *Store {
	other := *s
	other.readers = readers
	return &other
}

// begin are the first statements of every transaction: they open it and name
// the workspace to the row-level security.
func begin(b *pgx.Batch, workspace uuid.UUID) {
	b.Queue("begin")
	b.Queue("select set_config('magpie.workspace', $1, true)", workspace.String())
}

// beginWrite is begin for a transaction that need not wait for the disk: after
// a crash of the server the last moments may be missing, but the log is replayed
// in order, so what is there is consistent, and a document is missing together
// with its ledger row and hash. The next sync sees the item as not done and does
// it again.
func beginWrite(b *pgx.Batch, workspace uuid.UUID) {
	b.Queue("begin")
	b.Queue("select set_config('magpie.workspace', $1, true), set_config('synchronous_commit', 'off', true)", workspace.String())
}

// retries is how often a write is tried again that lost against another one:
// a deadlock with a cascade, or a document made by somebody else meanwhile.
const retries = 3

// write runs do, which opens and commits its own transaction on the connection
// by batches, so that a document costs two round trips. On an error the
// transaction is rolled back.
func (s *Store) write(ctx context.Context, do func(*pgx.Conn) error) error {
	for attempt := 0; ; attempt++ {
		err := s.inTransaction(ctx, do)
		if err == nil || attempt == retries || !lostRace(err) || ctx.Err() != nil {
			return readable(err)
		}
	}
}

// inTransaction lends do a connection and takes it back without a transaction.
func (s *Store) inTransaction(ctx context.Context, do func(*pgx.Conn) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("get a connection: %w", err)
	}
	defer conn.Release()
	err = do(conn.Conn())
	if conn.Conn().PgConn().TxStatus() != 'I' {
		// The caller's context may be why do failed; the pool closes the
		// connection should this fail.
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
		defer cancel()
		_, _ = conn.Exec(undo, "rollback")
	}
	return err
}

const rollbackTime = 5 * time.Second

// SQLSTATEs that are told apart.
const (
	stateFenced      = "MG001" // raised by magpie_hold_job
	stateForeignKey  = "23503"
	stateUnique      = "23505"
	stateSerialize   = "40001"
	stateDeadlock    = "40P01"
	stateUnavailable = "57P0" // the server is going down or was restarted
)

func state(err error) string {
	var p *pgconn.PgError
	if errors.As(err, &p) {
		return p.Code
	}
	return ""
}

func lostRace(err error) bool {
	switch state(err) {
	case stateUnique, stateSerialize, stateDeadlock:
		return true
	default:
		return false
	}
}

// readable turns the database's refusals into errors that callers can act on.
func readable(err error) error {
	var unreachable *pgconn.ConnectError
	switch code := state(err); {
	case err == nil:
		return nil
	case errors.As(err, &unreachable):
		return &apierr.Error{Code: apierr.Unavailable, Message: "The database cannot be reached; try again.", Cause: err}
	case code == stateFenced:
		return ErrFenced
	case code == stateForeignKey:
		// The connector, its collection or the job's workspace ended meanwhile.
		return &apierr.Error{Code: apierr.CodeNotFound, Message: "Connector not found", Cause: err}
	case len(code) == 5 && code[:4] == stateUnavailable:
		return &apierr.Error{Code: apierr.Unavailable, Message: "The database is restarting; try again.", Cause: err}
	default:
		return err
	}
}

// run sends the batch and reads every answer, in order, through the functions;
// a nil one just checks for success.
func run(ctx context.Context, conn *pgx.Conn, b *pgx.Batch, what string) error {
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// reach is a scope in the form that SQL takes it.
type reach struct {
	workspace   uuid.UUID
	collections []uuid.UUID
	all         bool
}

func reachOf(scope viewer.Scope) (reach, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return reach{}, fmt.Errorf("index: %w", err)
	}
	ids, all := scope.Collections()
	if ids == nil {
		ids = []uuid.UUID{}
	}
	return reach{workspace: workspace, collections: ids, all: all}, nil
}

// arguments are the three of a statement that reads within r, in a form that
// needs no conversion.
func (r *reach) arguments() []any {
	ids := make(pgtype.FlatArray[pgtype.UUID], len(r.collections))
	for i, id := range r.collections {
		ids[i] = pgtype.UUID{Bytes: id, Valid: true}
	}
	return []any{pgtype.UUID{Bytes: r.workspace, Valid: true}, r.all, ids}
}
