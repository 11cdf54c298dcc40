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
	PublishablePrefix = "svc_pk_"
	SecretPrefix      = "svc_sk_"
)

// keyBytes is the entropy of a key.
const keyBytes = 32

// FreshFor is how long a node may go by what it has read of a key: with the time
// that a request takes, a change binds on every node within a second.
const FreshFor = 800 * time.Millisecond

// maxKnown bounds the keys that a node keeps in memory.
const maxKnown = 10_000

// Key is an API key that has been recognised. Its slices are shared: they are
// not to be changed.
type Key struct {
	ID               uuid.UUID
	Viewer           viewer.Viewer // its surface is PUBLIC
	Publishable      bool
	RequireSignature bool
	Hosts, Referers  []string
	RatePerMinute    *int // nil: the server's default; 0: no limit

	flagged bool     // seen in a browser before
	old     bool     // of the pair before the last rotation
	hash    []byte   // of what was presented
	places  *origins // Hosts and Referers, read
}

// Keys makes and recognises API keys. It owns goroutines while it reads keys or
// notes their use; Close ends them.
type Keys struct {
	ent        *ent.Client
	now        func() time.Time
	log        *slog.Logger
	chatModels []string
	known      *ttlcache.Cache[digest, *record]
	notes      *notes
}

// KeyOption changes what NewKeys makes.
type KeyOption func(*Keys)

// WithKeyLog gives the log that receives warnings, with ids of keys only; none
// without.
func WithKeyLog(log *slog.Logger) KeyOption { return func(k *Keys) { k.log = log } }

// WithChatModels names the chat models that a key may choose from; without, the
// choice is not checked.
func WithChatModels(names []string) KeyOption { return func(k *Keys) { k.chatModels = names } }

// NewKeys returns the API keys of a database. A nil clock is the system's; one
// that is not monotonic may keep a changed key alive when it is set back. Close
// it once.
func NewKeys(client *ent.Client, now func() time.Time, options ...KeyOption) *Keys {
	if now == nil {
		now = time.Now
	}
	k := &Keys{ent: client, now: now, log: slog.New(slog.DiscardHandler)}
	for _, o := range options {
		o(k)
	}
	k.known = ttlcache.New(k.read, ttlcache.Options{MaxAge: FreshFor, MaxEntries: maxKnown, Now: now})
	k.notes = newNotes(client, k.log, now)
	return k
}

// Close writes down what is to be noted and ends.
func (k *Keys) Close() {
	k.known.Close()
	k.notes.close()
}

// digest is what a presented key is looked up by.
type digest struct {
	publishable bool
	hash        [sha256.Size]byte
}

// record is a pair as the database had it a moment ago, seen through one of its
// keys. It is shared by requests and does not change, but for noted.
type record struct {
	key      Key
	revoked  bool
	expires  *time.Time
	until    *time.Time // of a key of the pair before; nil has ended
	lastUsed *time.Time
	noted    atomic.Bool // the use since was noted
}

// Authenticate recognises a presented key: unauthorized when there is none,
// invalid_key when it is unknown, revoked or replaced, key_expired after its
// time. What it knows of a key is at most FreshFor old.
func (k *Keys) Authenticate(ctx context.Context, presented string) (Key, error) {
	if presented == "" {
		return Key{}, apierr.New(apierr.Unauthorized, "API key required")
	}
	publishable, ok := wellFormed(presented)
	if !ok {
		return Key{}, invalidKey()
	}
	r, found, err := k.known.Get(ctx, digest{publishable, sha256.Sum256([]byte(presented))})
	switch {
	case errors.Is(err, ttlcache.ErrClosed):
		return Key{}, &apierr.Error{Code: apierr.Unavailable, Message: "The server is shutting down; try again in a moment.", Cause: err}
	case err != nil:
		return Key{}, apierr.Wrap("look the key up", err)
	case !found:
		return Key{}, invalidKey()
	}
	now := k.now()
	if err := r.valid(now); err != nil {
		return Key{}, err
	}
	if (r.lastUsed == nil || now.Sub(*r.lastUsed) >= usedEvery) && r.noted.CompareAndSwap(false, true) {
		k.notes.used(ctx, r.key.ID, now)
	}
	return r.key, nil
}

// valid judges by the clock of the request, not of the reading.
func (r *record) valid(now time.Time) error {
	switch {
	case r.revoked, r.key.old && (r.until == nil || !now.Before(*r.until)):
		return invalidKey()
	case r.expires != nil && !now.Before(*r.expires):
		return apierr.New(apierr.KeyExpired, "API key has expired")
	}
	return nil
}

func invalidKey() error { return apierr.New(apierr.InvalidKey, "Invalid API key") }

// wellFormed tells what cannot be a key without asking the database.
func wellFormed(presented string) (publishable, ok bool) {
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

// read finds the pair that a key belongs to.
func (k *Keys) read(ctx context.Context, d digest) (*record, bool, error) {
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
	r := &record{key: keyOf(row, d.publishable), revoked: row.RevokedAt != nil, expires: row.ExpiresAt, lastUsed: row.LastUsedAt}
	r.key.hash = hash
	current := row.SecretHash
	if d.publishable {
		current = row.PublishableHash
	}
	if !bytes.Equal(current, hash) {
		r.key.old, r.until = true, row.PreviousExpiresAt
	}
	return r, true, nil
}

func keyOf(row *ent.APIKey, publishable bool) Key {
	v := viewer.Viewer{
		Workspace: row.WorkspaceID, Subject: row.ID, Kind: viewer.KindKey, Surface: viewer.SurfacePublic,
		AllCollections: row.AllowAllCollections, Collections: row.AllowedCollections, Secret: !publishable,
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
		flagged: row.LeakedAt != nil, places: readOrigins(row.AllowedHosts, row.AllowedReferers),
	}
}

// The states of a pair of keys.
const (
	StatusActive  = "ACTIVE"
	StatusExpired = "EXPIRED"
	StatusRevoked = "REVOKED"
)

// Status says where a pair of keys stands just now.
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

// pair is two new keys.
type pair struct{ publishable, secret string }

func newPair() pair { return pair{PublishablePrefix + random(), SecretPrefix + random()} }

// hint is what is kept of a key to recognise it by.
func hint(key string) string { return key[:len(SecretPrefix)+4] }

// Token makes a token that works once, for a link; what is stored of it is TokenHash.
func Token() string { return random() }

// TokenHash is what is stored of a token.
func TokenHash(token string) []byte { return hash(token) }

func random() string {
	b := make([]byte, keyBytes)
	_, _ = rand.Read(b) // documented never to fail
	return base64.RawURLEncoding.EncodeToString(b)
}

// Fingerprint is a short name for text that must not be shown, such as an
// address in the key of a counter. It cannot be turned back.
func Fingerprint(text string) string { return base64.RawURLEncoding.EncodeToString(hash(text)[:12]) }

func hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
