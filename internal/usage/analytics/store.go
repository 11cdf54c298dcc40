package analytics

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// StoreOptions are the options of a Store.
type StoreOptions struct {
	Mode      Mode             // Full when empty
	Retention time.Duration    // 0 keeps everything
	Now       func() time.Time // time.Now when nil
}

// A Store records events, makes reports and deletes old rows. It is safe for concurrent
// use.
type Store struct {
	pool *pgxpool.Pool
	opt  StoreOptions
}

// New returns a Store on the application's pool (internal/store).
func New(pool *pgxpool.Pool, o StoreOptions) *Store {
	if o.Mode == "" {
		o.Mode = Full
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{pool: pool, opt: o}
}
