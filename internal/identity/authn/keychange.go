package authn

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/apikey"
	"github.com/magpie-search/magpie/ent/collection"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/patch"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// For how many minutes the keys of before go on working after a rotation, if
// nothing else is said, and at most.
const (
	// How long the old keys of a pair work after a rotation: by default and at
	// most.
	DefaultOverlapMinutes = 24 * 60
	MaxOverlapMinutes     = 30 * 24 * 60
)

// CreatedKey is a new pair. The keys themselves are not stored.
type CreatedKey struct {
	Publishable, Secret string
	Row                 *ent.APIKey
}

// Create creates a pair of keys for the viewer's workspace. The draft must name the
// hosts of the publishable key; "*" allows all. Collections that the viewer cannot
// see are not_found.
func (k *Keys) Create(ctx context.Context, in KeyDraft) (*CreatedKey, error) {
	in, err := k.merge(KeyDraft{}, in.asChange())
	if err != nil {
		return nil, err
	}
	client := transaction.Client(ctx, k.ent)
	if err := checkCollectionsExist(ctx, client, in.collectionIDs()...); err != nil {
		return nil, err
	}
	keys := newPair()
	row, err := client.APIKey.Create().
		SetName(in.Name).
		SetPublishableHash(hash(keys.publishable)).SetSecretHash(hash(keys.secret)).
		SetPublishableHint(hint(keys.publishable)).SetSecretHint(hint(keys.secret)).
		SetAllowAllCollections(in.AllCollections).
		SetAllowedCollections(in.Collections).
		SetNillableDefaultCollection(in.Default).
		SetAllowedHosts(in.Hosts).SetAllowedReferers(in.Referers).
		SetNillableWidgetModelID(in.ChatModel).SetNillableWidgetContext(in.ChatContext).
		SetRequireSignature(in.RequireSignature).SetDatabaseTools(in.DatabaseTools).
		SetNillableRateLimitPerMinute(in.RatePerMinute).
		SetNillableExpiresAt(in.ExpiresAt).
		Save(ctx)
	if err != nil {
		return nil, apierr.Wrap("store the key", err)
	}
	return &CreatedKey{Publishable: keys.publishable, Secret: keys.secret, Row: row}, nil
}

// Get returns a pair of keys.
func (k *Keys) Get(ctx context.Context, id uuid.UUID) (*ent.APIKey, error) {
	row, err := transaction.Client(ctx, k.ent).APIKey.Get(ctx, id)
	return row, lookup.Error("API key", err)
}

// Exists returns not_found if there is no such pair of keys.
func (k *Keys) Exists(ctx context.Context, id uuid.UUID) error {
	return lookup.Exists(ctx, "API key", transaction.Client(ctx, k.ent).APIKey.Query().Where(apikey.ID(id)))
}

// collectionIDs returns all collections that the settings name.
func (in KeyDraft) collectionIDs() []uuid.UUID {
	named := slices.Clone(in.Collections)
	if in.Default != nil && !slices.Contains(named, *in.Default) {
		named = append(named, *in.Default)
	}
	return named
}

func checkCollectionsExist(ctx context.Context, client *ent.Client, collections ...uuid.UUID) error {
	if len(collections) == 0 {
		return nil
	}
	found, err := client.Collection.Query().Where(collection.IDIn(collections...)).Count(ctx)
	if err != nil {
		return apierr.Wrap("look the key's collections up", err)
	}
	if found != len(collections) {
		return apierr.NotFound("Collection")
	}
	return nil
}

// Update changes the settings of a pair. The result is checked as in Create, except
// that collections may have been deleted since they were named.
func (k *Keys) Update(ctx context.Context, id uuid.UUID, c KeyChange) (*ent.APIKey, error) {
	return k.change(ctx, id, func(client *ent.Client, row *ent.APIKey) (*ent.APIKey, error) {
		in, err := k.merge(settingsOf(row), c)
		if err != nil {
			return nil, err
		}
		old := settingsOf(row).collectionIDs()
		added := slices.DeleteFunc(in.collectionIDs(), func(id uuid.UUID) bool { return slices.Contains(old, id) })
		if err := checkCollectionsExist(ctx, client, added...); err != nil {
			return nil, err
		}
		update := client.APIKey.UpdateOne(row).
			SetName(in.Name).SetAllowAllCollections(in.AllCollections).SetAllowedCollections(in.Collections).
			SetAllowedHosts(in.Hosts).SetAllowedReferers(in.Referers).
			SetRequireSignature(in.RequireSignature).SetDatabaseTools(in.DatabaseTools)
		patch.SetOrClear(in.Default, update.SetDefaultCollection, update.ClearDefaultCollection)
		patch.SetOrClear(in.ChatModel, update.SetWidgetModelID, update.ClearWidgetModelID)
		patch.SetOrClear(in.ChatContext, update.SetWidgetContext, update.ClearWidgetContext)
		patch.SetOrClear(in.RatePerMinute, update.SetRateLimitPerMinute, update.ClearRateLimitPerMinute)
		patch.SetOrClear(in.ExpiresAt, update.SetExpiresAt, update.ClearExpiresAt)
		return update.Save(ctx)
	})
}

// Rotate gives a pair new keys, and a new expiry unless expires is nil. The current
// keys work for another overlapMinutes, but not beyond their expiry; the keys
// before them end at once. Rotate also clears a recorded leak.
func (k *Keys) Rotate(ctx context.Context, id uuid.UUID, overlapMinutes int, expires *time.Time) (*CreatedKey, error) {
	if overlapMinutes < 0 || overlapMinutes > MaxOverlapMinutes {
		return nil, apierr.Invalid("overlapMinutes", fmt.Sprintf("must be 0 to %d", MaxOverlapMinutes))
	}
	if err := k.checkExpiry(&expires); err != nil {
		return nil, err
	}
	keys := newPair()
	row, err := k.change(ctx, id, func(client *ent.Client, row *ent.APIKey) (*ent.APIKey, error) {
		now := k.timestamp()
		switch {
		case row.RevokedAt != nil:
			return nil, apierr.New(apierr.Conflict, "The key is revoked; make a new one")
		case row.ExpiresAt != nil && !row.ExpiresAt.After(now) && expires == nil:
			return nil, apierr.Invalid("expiresAt", "must be given: the key has expired")
		}
		update := client.APIKey.UpdateOne(row).
			SetPublishableHash(hash(keys.publishable)).SetSecretHash(hash(keys.secret)).
			SetPublishableHint(hint(keys.publishable)).SetSecretHint(hint(keys.secret)).
			SetRotatedAt(now).ClearLeakedAt().ClearLeakedOrigin().SetNillableExpiresAt(expires)
		until := now.Add(time.Duration(overlapMinutes) * time.Minute)
		if row.ExpiresAt != nil && row.ExpiresAt.Before(until) {
			until = *row.ExpiresAt
		}
		if until.After(now) {
			update.SetPreviousPublishableHash(row.PublishableHash).SetPreviousSecretHash(row.SecretHash).SetPreviousExpiresAt(until)
		} else {
			update.ClearPreviousPublishableHash().ClearPreviousSecretHash().ClearPreviousExpiresAt()
		}
		return update.Save(ctx)
	})
	if err != nil {
		return nil, err
	}
	return &CreatedKey{Publishable: keys.publishable, Secret: keys.secret, Row: row}, nil
}

// Revoke ends all keys of a pair.
func (k *Keys) Revoke(ctx context.Context, id uuid.UUID) (*ent.APIKey, error) {
	return k.change(ctx, id, func(client *ent.Client, row *ent.APIKey) (*ent.APIKey, error) {
		if row.RevokedAt != nil {
			return row, nil
		}
		return client.APIKey.UpdateOne(row).SetRevokedAt(k.timestamp()).Save(ctx)
	})
}

// timestamp returns the time with the precision of the database.
func (k *Keys) timestamp() time.Time { return k.now().Truncate(time.Microsecond) }

// change calls do with a locked row, in the transaction of ctx or in a new one, and
// removes the pair from the cache after the commit.
func (k *Keys) change(ctx context.Context, id uuid.UUID, do func(*ent.Client, *ent.APIKey) (*ent.APIKey, error)) (*ent.APIKey, error) {
	var row *ent.APIKey
	err := transaction.In(ctx, k.ent, func(ctx context.Context, client *ent.Client) error {
		old, err := client.APIKey.Query().Where(apikey.ID(id)).ForUpdate().Only(ctx)
		if err != nil {
			return lookup.Error("API key", err)
		}
		transaction.AfterCommit(ctx, func(context.Context) { k.invalidate(id) })
		row, err = do(client, old)
		return err
	})
	if err != nil {
		return nil, apierr.Wrap("change the key", err)
	}
	return transaction.Detach(ctx, row), nil
}

func (k *Keys) invalidate(id uuid.UUID) {
	k.cache.Invalidate(func(r *cachedKey) bool { return r.key.ID == id })
}
