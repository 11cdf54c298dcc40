package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/secret"
)

// ErrNoFlow says that a token is unknown, used or expired, without saying which.
var ErrNoFlow = errors.New("unknown, used before or expired")

// tokenBytes is the length of a decoded token.
const tokenBytes = 32

// Flows stores the state between two requests of a flow. The state is in
// PostgreSQL: it survives a restart and any node can continue the flow. The token
// is stored as a hash and the content is sealed.
type Flows struct {
	pool *pgxpool.Pool
	box  *secret.Box
	now  func() time.Time
}

// NewFlows returns the flows in a database. If now is nil, NewFlows uses time.Now.
func NewFlows(pool *pgxpool.Pool, box *secret.Box, now func() time.Time) *Flows {
	if now == nil {
		now = time.Now
	}
	return &Flows{pool: pool, box: box, now: now}
}

// NewToken returns a random token of 32 bytes as 43 characters.
func NewToken() string {
	raw := make([]byte, tokenBytes)
	_, _ = rand.Read(raw) // documented never to fail
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Put stores content, encoded as JSON, and returns the token for Take and Peek. It
// also deletes expired flows.
func (f *Flows) Put(ctx context.Context, purpose string, lifetime time.Duration, content any) (token string, expires time.Time, err error) {
	token = NewToken()
	key := sha256.Sum256([]byte(token))
	plain, err := json.Marshal(content)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("encode a flow: %w", err)
	}
	sealed, err := f.box.Seal(plain, flowAAD(purpose, key))
	if err != nil {
		return "", time.Time{}, fmt.Errorf("seal a flow: %w", err)
	}
	now := f.now()
	expires = now.Add(lifetime)
	batch := &pgx.Batch{}
	batch.Queue(`delete from oauth_flows where token_hash in
		(select token_hash from oauth_flows where expires_at < $1 order by expires_at limit 100 for update skip locked)`, now)
	batch.Queue(`insert into oauth_flows (token_hash, purpose, content, expires_at) values ($1, $2, $3, $4)`, key[:], purpose, sealed, expires)
	if err := f.pool.SendBatch(ctx, batch).Close(); err != nil {
		return "", time.Time{}, fmt.Errorf("keep a flow: %w", err)
	}
	return token, expires, nil
}

// Take decodes the content of a token and deletes it: of several concurrent calls
// one succeeds. The error is ErrNoFlow if there is no such content.
func (f *Flows) Take(ctx context.Context, purpose, token string, into any) error {
	return f.get(ctx, `delete from oauth_flows where token_hash = $1 and purpose = $2 returning content, expires_at`, purpose, token, into)
}

// Peek is Take without the deletion.
func (f *Flows) Peek(ctx context.Context, purpose, token string, into any) error {
	return f.get(ctx, `select content, expires_at from oauth_flows where token_hash = $1 and purpose = $2`, purpose, token, into)
}

func (f *Flows) get(ctx context.Context, query, purpose, token string, into any) error {
	if len(token) != base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return ErrNoFlow
	}
	key := sha256.Sum256([]byte(token))
	var sealed []byte
	var expires time.Time
	err := f.pool.QueryRow(ctx, query, key[:], purpose).Scan(&sealed, &expires)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ErrNoFlow
	case err != nil:
		return fmt.Errorf("read a flow: %w", err)
	case !f.now().Before(expires):
		return ErrNoFlow
	}
	plain, err := f.box.Open(sealed, flowAAD(purpose, key))
	if err != nil {
		return ErrNoFlow // sealed with a key that was removed
	}
	if err := json.Unmarshal(plain, into); err != nil {
		return fmt.Errorf("decode a flow: %w", err)
	}
	return nil
}

func flowAAD(purpose string, key [sha256.Size]byte) []byte {
	return secret.AAD("oauth_flows", purpose+":"+hex.EncodeToString(key[:]))
}
