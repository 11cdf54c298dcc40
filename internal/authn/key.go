package authn

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"magpie/ent"
	"magpie/ent/apikey"
	"magpie/ent/collection"
	"magpie/internal/apierr"
	"magpie/internal/transaction"
	"magpie/internal/viewer"
)

// The prefixes that tell the two keys of a pair apart.
const (
	PublishablePrefix = "svc_pk_"
	SecretPrefix      = "svc_sk_"
)

// keyBytes is the entropy of a key.
const keyBytes = 32

// usedEvery is how often a key's last use is written down.
const usedEvery = time.Minute

// Key is an API key that has been recognised.
type Key struct {
	ID               uuid.UUID
	Viewer           viewer.Viewer // its surface is PUBLIC
	Publishable      bool
	RequireSignature bool
	Hosts, Referers  []string
	RatePerMinute    *int // nil: the server's default; 0: no limit
}

// NewKey is what a pair of keys is made of.
type NewKey struct {
	Name                   string
	AllCollections         bool
	Collections            []uuid.UUID
	Default                *uuid.UUID
	Hosts, Referers        []string
	ChatModel, ChatContext *string
	RequireSignature       bool
	RatePerMinute          *int
	ExpiresAt              *time.Time
}

// CreatedKey is a new pair; the keys themselves are kept nowhere.
type CreatedKey struct {
	Publishable, Secret string
	Row                 *ent.APIKey
}

// Keys makes and recognises API keys.
type Keys struct {
	ent *ent.Client
	now func() time.Time
}

// NewKeys returns the API keys of a database. A nil clock is the system's.
func NewKeys(client *ent.Client, now func() time.Time) *Keys {
	if now == nil {
		now = time.Now
	}
	return &Keys{ent: client, now: now}
}

// Create makes a pair of keys for the viewer's workspace. A publishable key
// must name the hosts it works from; "*" is any. Collections that the viewer
// cannot see are not found.
func (k *Keys) Create(ctx context.Context, in NewKey) (*CreatedKey, error) {
	client := transaction.Client(ctx, k.ent)
	if err := in.validate(k.now()); err != nil {
		return nil, err
	}
	named := slices.Clone(in.Collections)
	if in.Default != nil && !slices.Contains(named, *in.Default) {
		if !in.AllCollections {
			return nil, apierr.Invalid("defaultCollection", "must be one of allowedCollections")
		}
		named = append(named, *in.Default)
	}
	slices.SortFunc(named, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
	named = slices.Compact(named)
	found, err := client.Collection.Query().Where(collection.IDIn(named...)).Count(ctx)
	if err != nil {
		return nil, apierr.Wrap("look the key's collections up", err)
	}
	if found != len(named) {
		return nil, apierr.NotFound("Collection")
	}
	publishable, secret := PublishablePrefix+random(), SecretPrefix+random()
	row, err := client.APIKey.Create().
		SetName(strings.TrimSpace(in.Name)).
		SetPublishableHash(hash(publishable)).SetSecretHash(hash(secret)).
		SetPublishableHint(publishable[:len(PublishablePrefix)+4]).SetSecretHint(secret[:len(SecretPrefix)+4]).
		SetAllowAllCollections(in.AllCollections).
		SetAllowedCollections(slices.Clip(in.Collections)).
		SetNillableDefaultCollection(in.Default).
		SetAllowedHosts(in.Hosts).SetAllowedReferers(slices.Clip(in.Referers)).
		SetNillableWidgetModelID(in.ChatModel).SetNillableWidgetContext(in.ChatContext).
		SetRequireSignature(in.RequireSignature).
		SetNillableRateLimitPerMinute(in.RatePerMinute).
		SetNillableExpiresAt(in.ExpiresAt).
		Save(ctx)
	if err != nil {
		return nil, apierr.Wrap("store the key", err)
	}
	return &CreatedKey{Publishable: publishable, Secret: secret, Row: row}, nil
}

func (in *NewKey) validate(now time.Time) error {
	in.Hosts, in.Referers = trimmed(in.Hosts), trimmed(in.Referers)
	if in.Collections == nil {
		in.Collections = []uuid.UUID{}
	}
	switch {
	case strings.TrimSpace(in.Name) == "":
		return apierr.Invalid("name", "must not be blank")
	case len([]rune(in.Name)) > 200:
		return apierr.Invalid("name", "must have at most 200 characters")
	case len(in.Hosts) == 0:
		return apierr.Invalid("allowedHosts", `must name at least one host from which the publishable key works; "*" is any`)
	case !in.AllCollections && len(in.Collections) == 0:
		return apierr.Invalid("allowedCollections", "must name at least one collection, or set allowAllCollections")
	case in.RatePerMinute != nil && *in.RatePerMinute < 0:
		return apierr.Invalid("rateLimitPerMinute", "must be 0 (no limit) or more")
	case in.ExpiresAt != nil && !in.ExpiresAt.After(now):
		return apierr.Invalid("expiresAt", "must be in the future")
	}
	for _, h := range in.Hosts {
		if h != "*" && hostOf(strings.TrimPrefix(h, "*.")) == "" {
			return apierr.Invalid("allowedHosts", "has an entry that is no host name: "+h)
		}
	}
	for _, r := range in.Referers {
		if u, err := url.Parse(r); err != nil || u.Host == "" {
			return apierr.Invalid("allowedReferers", "has an entry that is no URL such as https://example.com/docs: "+r)
		}
	}
	return nil
}

func trimmed(in []string) []string {
	out := make([]string, 0, len(in))
	for _, s := range in {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// Revoke ends both keys of a pair.
func (k *Keys) Revoke(ctx context.Context, id uuid.UUID) (*ent.APIKey, error) {
	client := transaction.Client(ctx, k.ent)
	row, err := client.APIKey.Get(ctx, id)
	if ent.IsNotFound(err) {
		return nil, apierr.NotFound("API key")
	}
	if err != nil {
		return nil, apierr.Wrap("read the key", err)
	}
	if row.RevokedAt != nil {
		return row, nil
	}
	row, err = client.APIKey.UpdateOne(row).SetRevokedAt(k.now()).Save(ctx)
	return row, apierr.Wrap("revoke the key", err)
}

// Authenticate recognises a presented key: unauthorized when there is none,
// invalid_key when it is unknown or revoked, key_expired after its time.
func (k *Keys) Authenticate(ctx context.Context, presented string) (Key, error) {
	if presented == "" {
		return Key{}, apierr.New(apierr.Unauthorized, "API key required")
	}
	invalid := apierr.New(apierr.InvalidKey, "Invalid API key")
	publishable := strings.HasPrefix(presented, PublishablePrefix)
	if !publishable && !strings.HasPrefix(presented, SecretPrefix) || len(presented) > 200 {
		return Key{}, invalid
	}
	system := viewer.With(ctx, viewer.System(uuid.Nil))
	query := k.ent.APIKey.Query()
	if publishable {
		query = query.Where(apikey.PublishableHash(hash(presented)))
	} else {
		query = query.Where(apikey.SecretHash(hash(presented)))
	}
	row, err := query.Only(system)
	switch {
	case ent.IsNotFound(err):
		return Key{}, invalid
	case err != nil:
		return Key{}, apierr.Wrap("look the key up", err)
	case row.RevokedAt != nil:
		return Key{}, invalid
	case row.ExpiresAt != nil && !k.now().Before(*row.ExpiresAt):
		return Key{}, apierr.New(apierr.KeyExpired, "API key has expired")
	}
	if row.LastUsedAt == nil || k.now().Sub(*row.LastUsedAt) > usedEvery {
		if err := k.ent.APIKey.UpdateOneID(row.ID).SetLastUsedAt(k.now()).Exec(system); err != nil {
			return Key{}, apierr.Wrap("note the key's use", err)
		}
	}
	return keyOf(row, publishable), nil
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
	}
}

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
