package authn

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/apikey"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/ttlcache"
	"github.com/magpie-search/magpie/internal/viewer"
)

// The prefixes that tell the two keys of a pair apart.
const (
	// The prefixes of the two keys of a pair.
	PublishablePrefix = "svc_pk_"
	SecretPrefix      = "svc_sk_"
)

// keyBytes is the length of the random part of a key.
const keyBytes = 32

// CacheMaxAge is the maximum age of a cached key or session. Together with the
// duration of a request, a change takes effect on every node within a second.
const CacheMaxAge = 800 * time.Millisecond

// maxCachedKeys is the maximum number of cached keys.
const maxCachedKeys = 10_000

// Key is an authenticated API key. Its slices are shared and must not be changed.
type Key struct {
	ID               uuid.UUID
	Viewer           viewer.Viewer // has the surface PUBLIC
	Publishable      bool
	RequireSignature bool
	Hosts, Referers  []string
	RatePerMinute    *int // nil: the server's default; 0: no limit

	leakKnown bool            // a leak is recorded already
	previous  bool            // replaced by the last rotation
	hash      []byte          // of the presented key
	origins   *allowedOrigins // of Hosts and Referers
}

// Keys creates and authenticates API keys. It caches keys and records their use;
// Close ends its goroutines.
type Keys struct {
	ent         *ent.Client
	now         func() time.Time
	log         *slog.Logger
	chatModels  []string
	cache       *ttlcache.Cache[cacheKey, *cachedKey]
	useRecorder *useRecorder
}

// KeyOption configures Keys.
type KeyOption func(*Keys)

// WithKeyLog sets the log for warnings. Default: discard.
func WithKeyLog(log *slog.Logger) KeyOption { return func(k *Keys) { k.log = log } }

// WithChatModels sets the chat models that a key may have. By default they are not
// checked.
func WithChatModels(names []string) KeyOption { return func(k *Keys) { k.chatModels = names } }

// NewKeys returns the API keys of a database. If now is nil, NewKeys uses time.Now.
// A clock that is set back may keep a changed key valid.
func NewKeys(client *ent.Client, now func() time.Time, options ...KeyOption) *Keys {
	if now == nil {
		now = time.Now
	}
	k := &Keys{ent: client, now: now, log: slog.New(slog.DiscardHandler)}
	for _, o := range options {
		o(k)
	}
	k.cache = ttlcache.New(k.load, ttlcache.Options{MaxAge: CacheMaxAge, MaxEntries: maxCachedKeys, Now: now})
	k.useRecorder = newUseRecorder(client, k.log, now)
	return k
}

// Close stores the recorded uses and ends the goroutines.
func (k *Keys) Close() {
	k.cache.Close()
	k.useRecorder.close()
}

// cacheKey identifies a presented key in the cache.
type cacheKey struct {
	publishable bool
	hash        [sha256.Size]byte
}

// cachedKey is a key with the state of its pair. Requests share it; only
// useRecorded changes.
type cachedKey struct {
	key           Key
	revoked       bool
	expiresAt     *time.Time
	previousUntil *time.Time // end of a previous key; nil: has ended
	lastUsed      *time.Time
	useRecorded   atomic.Bool // since the load
}

// Authenticate returns the presented key. The error is unauthorized if none is
// presented, invalid_key if it is unknown, revoked or replaced, and key_expired.
// The state of the key is at most CacheMaxAge old.
func (k *Keys) Authenticate(ctx context.Context, presented string) (Key, error) {
	if presented == "" {
		return Key{}, apierr.New(apierr.Unauthorized, "API key required")
	}
	publishable, ok := parseKey(presented)
	if !ok {
		return Key{}, errInvalidKey()
	}
	r, found, err := k.cache.Get(ctx, cacheKey{publishable, sha256.Sum256([]byte(presented))})
	switch {
	case errors.Is(err, ttlcache.ErrClosed):
		return Key{}, &apierr.Error{Code: apierr.Unavailable, Message: "The server is shutting down; try again in a moment.", Cause: err}
	case err != nil:
		return Key{}, apierr.Wrap("look the key up", err)
	case !found:
		return Key{}, errInvalidKey()
	}
	now := k.now()
	if err := r.valid(now); err != nil {
		return Key{}, err
	}
	if (r.lastUsed == nil || now.Sub(*r.lastUsed) >= useInterval) && r.useRecorded.CompareAndSwap(false, true) {
		k.useRecorder.recordUse(ctx, r.key.ID, now)
	}
	return r.key, nil
}

// valid checks the key at the time of the request.
func (r *cachedKey) valid(now time.Time) error {
	switch {
	case r.revoked, r.key.previous && (r.previousUntil == nil || !now.Before(*r.previousUntil)):
		return errInvalidKey()
	case r.expiresAt != nil && !now.Before(*r.expiresAt):
		return apierr.New(apierr.KeyExpired, "API key has expired")
	}
	return nil
}

func errInvalidKey() error { return apierr.New(apierr.InvalidKey, "Invalid API key") }

// IsKey reports whether a credential is meant as an API key, by its prefix. It may be
// invalid.
func IsKey(presented string) bool {
	return strings.HasPrefix(presented, PublishablePrefix) || strings.HasPrefix(presented, SecretPrefix)
}

// parseKey reports the kind of a presented key, and whether it has the form of a
// key.
func parseKey(presented string) (publishable, ok bool) {
	text, publishable := strings.CutPrefix(presented, PublishablePrefix)
	if !publishable {
		if text, ok = strings.CutPrefix(presented, SecretPrefix); !ok {
			return false, false
		}
	}
	if len(text) != base64.RawURLEncoding.EncodedLen(keyBytes) {
		return publishable, false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return publishable, false
		}
	}
	return publishable, true
}

// load reads the pair that a key belongs to.
func (k *Keys) load(ctx context.Context, d cacheKey) (*cachedKey, bool, error) {
	hash := d.hash[:]
	query := k.ent.APIKey.Query()
	if d.publishable {
		query = query.Where(apikey.Or(apikey.PublishableHash(hash), apikey.PreviousPublishableHash(hash)))
	} else {
		query = query.Where(apikey.Or(apikey.SecretHash(hash), apikey.PreviousSecretHash(hash)))
	}
	row, err := query.Only(viewer.With(ctx, viewer.System(uuid.Nil)))
	if ent.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	r := &cachedKey{key: keyOf(row, d.publishable), revoked: row.RevokedAt != nil, expiresAt: row.ExpiresAt, lastUsed: row.LastUsedAt}
	r.key.hash = hash
	current := row.SecretHash
	if d.publishable {
		current = row.PublishableHash
	}
	if !bytes.Equal(current, hash) {
		r.key.previous, r.previousUntil = true, row.PreviousExpiresAt
	}
	return r, true, nil
}

func keyOf(row *ent.APIKey, publishable bool) Key {
	v := viewer.Viewer{
		Workspace: row.WorkspaceID, Subject: row.ID, Kind: viewer.KindKey, Surface: viewer.SurfacePublic,
		AllCollections: row.AllowAllCollections, Collections: row.AllowedCollections,
		Secret: !publishable, DatabaseTools: row.DatabaseTools && !publishable,
	}
	if row.DefaultCollection != nil {
		v.DefaultCollection = *row.DefaultCollection
	}
	if row.WidgetModelID != nil {
		v.ChatModel = *row.WidgetModelID
	}
	if row.WidgetContext != nil {
		v.ChatContext = *row.WidgetContext
	}
	return Key{
		ID: row.ID, Viewer: v, Publishable: publishable, RequireSignature: row.RequireSignature && !publishable,
		Hosts: row.AllowedHosts, Referers: row.AllowedReferers, RatePerMinute: row.RateLimitPerMinute,
		leakKnown: row.LeakedAt != nil, origins: parseAllowedOrigins(row.AllowedHosts, row.AllowedReferers),
	}
}

// The states of a pair of keys.
const (
	// The states of a pair of keys.
	StatusActive  = "ACTIVE"
	StatusExpired = "EXPIRED"
	StatusRevoked = "REVOKED"
)

// Status returns the current state of a pair of keys.
func (k *Keys) Status(row *ent.APIKey) string {
	switch {
	case row.RevokedAt != nil:
		return StatusRevoked
	case row.ExpiresAt != nil && !k.now().Before(*row.ExpiresAt):
		return StatusExpired
	default:
		return StatusActive
	}
}

// pair is a new pair of keys.
type pair struct{ publishable, secret string }

func newPair() pair { return pair{PublishablePrefix + randomToken(), SecretPrefix + randomToken()} }

// hint returns the part of a key that is stored and shown.
func hint(key string) string { return key[:len(SecretPrefix)+4] }

// NewToken returns a token for a link that works once. TokenHash of it is stored.
func NewToken() string { return randomToken() }

// TokenHash returns the hash of a token.
func TokenHash(token string) []byte { return hash(token) }

func randomToken() string {
	b := make([]byte, keyBytes)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// Fingerprint returns a short hash of text that must not be shown, such as an
// address in the key of a counter.
func Fingerprint(text string) string { return base64.RawURLEncoding.EncodeToString(hash(text)[:12]) }

func hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
