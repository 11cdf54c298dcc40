package store

import (
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// readOnly is the SQLSTATE read_only_sql_transaction.
const readOnly = "25006"

// resetInterval is the least time between two resets.
const resetInterval = 5 * time.Second

// A poolReset closes the connections of pools after a statement failed because its
// server takes no writes. After a failover, open connections may lead to a server
// that takes none ever again.
type poolReset struct {
	mu    sync.Mutex
	last  time.Time
	pools []*pgxpool.Pool
}

// of adds pools.
func (r *poolReset) of(pools ...*pgxpool.Pool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pools = append(r.pools, pools...)
}

// after looks at the error of a statement.
func (r *poolReset) after(err error) {
	if err == nil {
		return
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != readOnly {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.last) >= resetInterval {
		r.last = now
		for _, pool := range r.pools {
			pool.Reset() // connections in use are closed when they are released
		}
	}
}
