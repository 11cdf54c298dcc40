package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// ErrBehind is returned by a read on a replica that has not replayed what the read must
// see.
var ErrBehind = errors.New("the replica is behind")

const (
	// acquireTimeout bounds the wait for a connection to a replica.
	acquireTimeout = 500 * time.Millisecond
	// beginTimeout bounds the begin of a read on a replica, and a read that Read makes.
	beginTimeout = 2 * time.Second
	// maxTries is the number of replicas that one read tries.
	maxTries = 2
	// rollbackTimeout bounds the end of a transaction that has failed.
	rollbackTimeout = 5 * time.Second
)

// A Server is a replica: its name in metrics and logs, and a pool of connections to it.
// The pool may have no connection yet.
type Server struct {
	Name string
	Pool *pgxpool.Pool
}

// Options tune Readers; the zero value is ready to use.
type Options struct {
	// Interval is the time between two checks of a replica, 5 s by default. For as long a
	// replica that has failed is left out at least.
	Interval time.Duration
	// Log gets replicas that are left out or used again; nil discards them.
	Log *slog.Logger
}

// Readers choose the servers of reads. They are safe for concurrent use.
type Readers struct {
	primary  *pgxpool.Pool
	replicas []*server
	next     atomic.Uint32
	counts   counts
	opt      Options
	stop     context.CancelFunc
	checks   sync.WaitGroup
}

// Primary returns Readers without replicas: every read uses the primary. They need no
// Close.
func Primary(pool *pgxpool.Pool) *Readers { return &Readers{primary: pool} }

// Open returns Readers of a primary and its replicas. A replica that cannot be reached is
// left out until it can be, and so is one that was promoted. The error is a *Mismatch for a
// server of another cluster. Close must be called; it closes the pools of the replicas, but
// not that of the primary.
func Open(ctx context.Context, primary *pgxpool.Pool, servers []Server, opt Options) (*Readers, error) {
	if opt.Interval <= 0 {
		opt.Interval = 5 * time.Second
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	r := &Readers{primary: primary, opt: opt, stop: func() {}}
	for _, s := range servers {
		r.replicas = append(r.replicas, &server{Server: s, sql: stdlib.OpenDBFromPool(s.Pool)})
	}
	if err := r.start(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// start checks all replicas once, and then again and again in the background.
func (r *Readers) start(ctx context.Context) error {
	head, err := headOf(ctx, r.primary)
	if err != nil {
		return fmt.Errorf("check the replicas: %w", err)
	}
	for _, s := range r.replicas {
		err := s.check(ctx, head)
		if mismatch, ok := errors.AsType[*Mismatch](err); ok {
			return fmt.Errorf("check the replica %s: %w", s.Name, mismatch)
		}
		r.checked(ctx, s, err)
	}
	checking, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.checks.Go(func() { r.watch(checking) })
	return nil
}

// Close stops the checks and closes the pools of the replicas.
func (r *Readers) Close() {
	if r.stop != nil {
		r.stop()
	}
	r.checks.Wait()
	for _, s := range r.replicas {
		_ = s.sql.Close()
		s.Pool.Close()
	}
}

// HasReplicas reports whether there are replicas, used or left out.
func (r *Readers) HasReplicas() bool { return len(r.replicas) > 0 }

// A Conn is a connection for one read. It must be released.
type Conn struct {
	*pgxpool.Conn
	readers *Readers
	from    *server // nil for the primary
}

// IsReplica reports whether the connection is to a replica.
func (c *Conn) IsReplica() bool { return c.from != nil }

// Release ends an open transaction and returns the connection to its pool, even if the
// context is done.
func (c *Conn) Release(ctx context.Context) { release(ctx, c.Conn) }

func release(ctx context.Context, conn *pgxpool.Conn) {
	if conn.Conn().PgConn().TxStatus() != 'I' {
		// If this fails the pool closes the connection.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
		defer cancel()
		_, _ = conn.Exec(end, "rollback")
	}
	conn.Release()
}

// Fault returns the error of a read with this connection: a *Fault if the replica is the
// reason, so that Do repeats the read on the primary.
func (c *Conn) Fault(ctx context.Context, err error) error {
	if err == nil || c.from == nil {
		return err
	}
	reason := reasonOf(ctx, isClosed(c.Conn), err)
	if reason == "" {
		return err
	}
	// A connection that broke without a word says little: replay ends those that wait in a
	// transaction, too. If the replica is away, the next read cannot connect.
	told := errors.As(err, new(*pgconn.PgError))
	c.readers.failed(ctx, c.from, reason, err, reason == reasonUnavailable && told)
	return &Fault{reason, err}
}

// Acquire returns a connection for a read. On a replica it calls begin first, which
// begins the transaction of the read and returns ErrBehind if the replica has not
// replayed enough; begin is not called for the primary. What begin has read on a server
// that failed must be discarded.
func (r *Readers) Acquire(ctx context.Context, begin func(context.Context, *pgxpool.Conn) error) (*Conn, error) {
	reason := ""
	if r.HasReplicas() {
		if reason = repeated(ctx); reason == "" {
			var c *Conn
			var err error
			if c, reason, err = r.fromReplica(ctx, begin); c != nil || err != nil {
				return c, err
			}
		}
		r.counts.add(reason)
	}
	conn, err := r.primary.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("get a connection: %w", err)
	}
	return &Conn{Conn: conn, readers: r}, nil
}

// fromReplica begins a read on a replica. Without a connection and without an error it says
// why the primary must answer.
func (r *Readers) fromReplica(ctx context.Context, begin func(context.Context, *pgxpool.Conn) error) (c *Conn, reason string, err error) {
	reason, err = r.choose(ctx, func(s *server) error {
		conn, err := s.begin(ctx, begin)
		if err == nil {
			c = &Conn{conn, r, s}
		}
		return err
	})
	return c, reason, err
}

// choose tries replicas in turn, beginning with another one at each call, until try begins
// a read on one of them. Otherwise it says why the primary must answer. The error is one of
// try for another reason.
func (r *Readers) choose(ctx context.Context, try func(*server) error) (reason string, _ error) {
	reason = reasonUnavailable
	first := int(r.next.Add(1))
	tries := 0
	for i := range r.replicas {
		s := r.replicas[(first+i)%len(r.replicas)]
		if !s.usable() {
			continue
		}
		err := try(s)
		if err == nil {
			r.counts.add("")
			return "", nil
		}
		var fault *Fault
		switch {
		case errors.Is(err, ErrBehind):
			reason = reasonBehind
		case errors.As(err, &fault):
			reason = fault.Reason
			r.failed(ctx, s, reason, fault.Err, reason == reasonUnavailable)
		default:
			return "", err
		}
		if tries++; tries == maxTries {
			break
		}
	}
	return reason, nil
}

// Read runs do once, or twice if the first time was on a replica that is behind or
// failed. The transaction that do leaves open is rolled back. What do has read on a
// server that failed must be discarded.
func (r *Readers) Read(ctx context.Context, do func(ctx context.Context, conn *pgxpool.Conn, isReplica bool) error) error {
	conn, err := r.Acquire(ctx, func(ctx context.Context, conn *pgxpool.Conn) error { return do(ctx, conn, true) })
	if err != nil {
		return err
	}
	defer conn.Release(ctx)
	if conn.IsReplica() {
		return nil // do has run
	}
	return do(ctx, conn.Conn, false)
}

// Do calls read. If the error is a *Fault, Do calls it again with a context whose reads
// use the primary.
func (r *Readers) Do(ctx context.Context, read func(context.Context) error) error {
	err := read(ctx)
	if fault, ok := errors.AsType[*Fault](err); ok && ctx.Err() == nil {
		return read(context.WithValue(ctx, repeatKey{}, fault.Reason))
	}
	return err
}

// repeatKey is the key of the reason why a read is repeated.
type repeatKey struct{}

// repeated returns why a read is repeated on the primary, "" for a first read.
func repeated(ctx context.Context) string {
	reason, _ := ctx.Value(repeatKey{}).(string)
	return reason
}
