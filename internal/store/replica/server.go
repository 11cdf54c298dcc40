package replica

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// checkTimeout bounds the check of a server.
const checkTimeout = 3 * time.Second

// A server is a replica in use.
type server struct {
	Server
	sql   *sql.DB // on the pool
	mutex sync.Mutex
	out   bool      // left out
	since time.Time // of the last failure; the zero time for none
	lag   Lag
}

// A Lag is how far a replica is behind the primary.
type Lag struct {
	// Bytes of the write-ahead log that the replica has not replayed.
	Bytes int64
	// Time since the last replayed transaction was committed; 0 if nothing is missing.
	Time time.Duration
}

func (s *server) usable() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return !s.out
}

// begin acquires a connection and calls begin with it. Its error is ErrBehind, a *Fault,
// or the caller's own.
func (s *server) begin(ctx context.Context, begin func(context.Context, *pgxpool.Conn) error) (*pgxpool.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, acquireTimeout)
	conn, err := s.Pool.Acquire(limited)
	cancel()
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("get a connection: %w", err)
	case errors.Is(err, context.DeadlineExceeded) && isTaken(s.Pool.Stat()):
		return nil, &Fault{reasonBusy, err}
	case err != nil:
		return nil, &Fault{reasonUnavailable, err}
	}
	limited, cancel = context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	err = begin(limited, conn)
	if err == nil {
		return conn, nil
	}
	if reason := reasonOf(ctx, isClosed(conn), err); reason != "" && !errors.Is(err, ErrBehind) {
		err = &Fault{reason, err}
	}
	release(ctx, conn)
	return nil, err
}

// isTaken reports whether a pool has all the connections that it may have, so that a caller
// waited for other reads and not for the server.
func isTaken(s *pgxpool.Stat) bool {
	return s.ConstructingConns() == 0 && s.TotalConns() >= s.MaxConns()
}

// failed notes the failure of a read. A replica that is left out stays so until a check
// succeeds.
func (r *Readers) failed(ctx context.Context, s *server, reason string, err error, leaveOut bool) {
	if reason == reasonConflict || reason == reasonBusy {
		return // the replica answers other reads
	}
	s.mutex.Lock()
	isNew := time.Since(s.since) >= r.opt.Interval
	s.since = time.Now()
	s.out = s.out || leaveOut
	s.mutex.Unlock()
	if isNew {
		r.opt.Log.WarnContext(ctx, "replica failed, reading from the primary", slog.String("replica", s.Name), slog.String("reason", reason), slog.Any("error", err))
	}
}

// watch checks the replicas until ctx is done.
func (r *Readers) watch(ctx context.Context) {
	tick := time.NewTicker(r.opt.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		head, err := headOf(ctx, r.primary)
		if err != nil {
			continue // the primary is away; replicas can say nothing about what is missing
		}
		var checks sync.WaitGroup
		for _, s := range r.replicas {
			checks.Go(func() { r.checked(ctx, s, s.check(ctx, head)) })
		}
		checks.Wait()
	}
}

// checked notes the outcome of a check.
func (r *Readers) checked(ctx context.Context, s *server, err error) {
	if ctx.Err() != nil {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case err != nil && !s.out:
		s.out, s.since = true, time.Now()
		r.opt.Log.WarnContext(ctx, "replica left out", slog.String("replica", s.Name), slog.Any("error", err))
	case err == nil && s.out && time.Since(s.since) >= r.opt.Interval:
		s.out = false
		r.opt.Log.InfoContext(ctx, "replica used again", slog.String("replica", s.Name))
	}
}

// A head is the state of the primary: what its replicas must be copies of, and have
// replayed.
type head struct {
	system   string // the identifier of the cluster
	position string // the end of the write-ahead log
}

func headOf(ctx context.Context, primary *pgxpool.Pool) (h head, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	const query = `select system_identifier::text, case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end::text from pg_control_system()`
	if err := primary.QueryRow(ctx, query).Scan(&h.system, &h.position); err != nil {
		return head{}, fmt.Errorf("read the position of the primary: %w", err)
	}
	return h, nil
}

// errPromoted is the error of a server that replays nothing. After a failover it may be
// the primary itself.
var errPromoted = errors.New("the server is not in recovery; DATABASE_READ_URL names streaming replicas")

// check reads how far the replica is. The error is a *Mismatch if it belongs to another
// cluster.
func (s *server) check(ctx context.Context, h head) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var system string
	var replica bool
	var bytes int64
	var seconds float64
	const query = `select system_identifier::text, pg_is_in_recovery(), greatest(coalesce(pg_wal_lsn_diff($1::text::pg_lsn, pg_last_wal_replay_lsn()), 0), 0)::bigint,
		coalesce(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()), 0)::float8 from pg_control_system()`
	if err := s.Pool.QueryRow(ctx, query, h.position).Scan(&system, &replica, &bytes, &seconds); err != nil {
		return fmt.Errorf("check a replica: %w", err)
	}
	lag := Lag{Bytes: bytes}
	if bytes > 0 {
		lag.Time = time.Duration(max(seconds, 0) * float64(time.Second))
	}
	s.mutex.Lock()
	s.lag = lag
	s.mutex.Unlock()
	if system != h.system {
		return &Mismatch{
			Problem: "it belongs to another cluster (its system identifier is " + system + ", that of the primary " + h.system + ")",
			Remedy:  "name streaming replicas of the server of DATABASE_URL in DATABASE_READ_URL",
		}
	}
	if !replica {
		return errPromoted
	}
	return nil
}
