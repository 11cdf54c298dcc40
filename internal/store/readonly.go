package store

import (
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// readOnly is SQLSTATE read_only_sql_transaction.
const readOnly = "25006"

// renewEvery is the least time between two renewals of all connections.
const renewEvery = 5 * time.Second

// renewal replaces the connections of pools once a statement was refused because
// its server takes no writes. After a failover the connections that are open may
// lead to a server that never will again, for as long as they live.
type renewal struct {
	mu    sync.Mutex
	last  time.Time
	pools []*pgxpool.Pool
}

// of makes the renewal that of further pools.
func (r *renewal) of(pools ...*pgxpool.Pool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pools = append(r.pools, pools...)
}

// after looks at how a statement ended.
func (r *renewal) after(err error) {
	if err == nil {
		return
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != readOnly {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.last) >= renewEvery {
		r.last = now
		for _, pool := range r.pools {
			pool.Reset() // those in use are replaced when they are released
		}
	}
}
