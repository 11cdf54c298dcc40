package oauth

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"
)

// Once reports whether a name is used for the first time for a purpose, and records
// it until a time. Of several concurrent calls, on any node, one reports true. The
// recorded time must be the last at which the name could be accepted.
func (f *Flows) Once(ctx context.Context, purpose, name string, until time.Time) (bool, error) {
	key := sha256.Sum256([]byte(purpose + "\x00" + name))
	tag, err := f.pool.Exec(ctx, `insert into oauth_flows (token_hash, purpose, content, expires_at) values ($1, $2, '', $3)
		on conflict (token_hash) do nothing`, key[:], purpose, until)
	if err != nil {
		return false, fmt.Errorf("record the use of a name: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}
