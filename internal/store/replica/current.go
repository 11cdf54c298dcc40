package replica

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Current calls read in a read-only transaction of a replica that has replayed all that the
// primary has committed by now, and reports whether it has answered. If not, no replica has
// come so far, or the one that had has failed since: the caller reads the primary, and
// discards what read has read. The error is that of read for another reason.
func (r *Readers) Current(ctx context.Context, read func(ctx context.Context, tx *sql.Tx) error) (answered bool, err error) {
	if !r.HasReplicas() {
		return false, nil
	}
	// Not pg_current_wal_lsn: a transaction that does not wait for the disk can be seen
	// before its commit is written.
	const query = `select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end::text`
	var position string
	if err := r.primary.QueryRow(ctx, query).Scan(&position); err != nil {
		return false, fmt.Errorf("read the position of the primary: %w", err)
	}
	var on *server
	var t *transaction
	reason, err := r.choose(ctx, func(s *server) (err error) {
		on = s
		t, err = s.beginAt(ctx, position)
		return err
	})
	if err != nil {
		return false, err
	}
	if reason == "" {
		defer t.end()
		if err = read(ctx, t.Tx); err == nil {
			return true, nil
		}
		if reason = reasonOf(ctx, t.isBroken, err); reason == "" {
			return false, err
		}
		r.failed(ctx, on, reason, err, reason == reasonUnavailable)
	}
	r.counts.add(reason)
	return false, nil
}

// A transaction is one on a replica.
type transaction struct {
	*sql.Tx
	end func()
}

// beginAt begins a transaction on a server that has replayed a position. Its error is
// ErrBehind, a *Fault, or that of ctx.
func (s *server) beginAt(ctx context.Context, position string) (_ *transaction, err error) {
	// The transaction lasts as long as its context, which cannot have a deadline for the
	// begin alone.
	lasting, cancel := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	limit := time.AfterFunc(beginTimeout, cancel)
	tx, err := s.sql.BeginTx(lasting, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	reached := false
	if err == nil {
		err = tx.QueryRowContext(lasting, "select pg_last_wal_replay_lsn() >= $1::text::pg_lsn", position).Scan(&reached)
	}
	switch inTime := limit.Stop(); {
	case err == nil && inTime && reached:
		return &transaction{tx, func() { _ = tx.Rollback(); cancel() }}, nil
	case err == nil && inTime:
		_ = tx.Rollback()
		return nil, ErrBehind
	case ctx.Err() != nil:
		return nil, fmt.Errorf("begin: %w", ctx.Err())
	case !inTime && isTaken(s.Pool.Stat()):
		return nil, &Fault{reasonBusy, errors.Join(err, context.DeadlineExceeded)}
	}
	return nil, &Fault{reasonUnavailable, errors.Join(err, lasting.Err())}
}

// isBroken reports whether the connection can say nothing any more.
func (t *transaction) isBroken(ctx context.Context) bool {
	_, err := t.ExecContext(ctx, "select")
	return err != nil && !errors.As(err, new(*pgconn.PgError))
}
