package replica

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The reasons why the primary answers a read.
const (
	reasonBehind      = "behind"      // no replica has replayed what the read must see
	reasonConflict    = "conflict"    // replay has canceled the read
	reasonBusy        = "busy"        // all connections to the replicas are taken
	reasonUnavailable = "unavailable" // no replica can be reached
	reasonError       = "error"       // a replica refuses what the primary may accept
)

// A Fault is the failure of a read on a replica that may succeed on the primary.
type Fault struct {
	Reason string
	Err    error
}

// Error implements error.
func (f *Fault) Error() string { return "read a replica: " + f.Err.Error() }

// Unwrap returns the error of the replica.
func (f *Fault) Unwrap() error { return f.Err }

// A Mismatch reports a server that is no replica of the primary. A retry does not help;
// its text says what to do.
type Mismatch struct{ Problem, Remedy string }

// Error implements error.
func (m *Mismatch) Error() string { return m.Problem + "; " + m.Remedy }

// SQLSTATEs.
const (
	stateSerialization = "40001" // also a conflict with recovery
	stateDeadlock      = "40P01" // with recovery
	stateCanceled      = "57014"
	stateShutdown      = "57P0" // and a letter: the server shuts down, has crashed or is starting
	stateConnections   = "53300"
)

// reasonOf returns why a read must be repeated on the primary after an error on a replica,
// "" if it must not: it took too long, its caller has gone, or the caller's own code
// failed. isBroken reports whether its connection is.
func reasonOf(ctx context.Context, isBroken func(context.Context) bool, err error) string {
	if ctx.Err() != nil {
		return ""
	}
	var refused *pgconn.PgError
	switch {
	case !errors.As(err, &refused):
		if isBroken(ctx) {
			return reasonUnavailable
		}
		return ""
	case refused.Code == stateSerialization, refused.Code == stateDeadlock, strings.Contains(refused.Message, "conflict with recovery"):
		return reasonConflict
	case refused.Code == stateCanceled:
		return ""
	case strings.HasPrefix(refused.Code, stateShutdown), refused.Code == stateConnections:
		return reasonUnavailable
	default: // such as a table that a replica of the previous schema lacks
		return reasonError
	}
}

// isClosed is isBroken of a connection.
func isClosed(conn *pgxpool.Conn) func(context.Context) bool {
	return func(context.Context) bool { return conn.Conn().IsClosed() }
}
