package analytics

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// StoreOptions tune a Store.
type StoreOptions struct {
	Mode      Mode             // what is kept; Full when empty
	Retention time.Duration    // how long; 0 is for good
	Now       func() time.Time // nil: the system's clock
}

// Store takes events in, reports, and forgets. It is safe for concurrent use.
type Store struct {
	pool *pgxpool.Pool
	opt  StoreOptions
}

// New makes a Store on the application's pool (internal/store).
func New(pool *pgxpool.Pool, o StoreOptions) *Store {
	if o.Mode == "" {
		o.Mode = Full
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{pool: pool, opt: o}
}
