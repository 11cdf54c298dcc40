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
	DefaultOverlap = 24 * 60
	MaxOverlap     = 30 * 24 * 60
)

// CreatedKey is a new pair; the keys themselves are kept nowhere.
type CreatedKey struct {
	Publishable, Secret string
	Row                 *ent.APIKey
}

// Create makes a pair of keys for the viewer's workspace. A publishable key
// must name the hosts it works from; "*" is any. Collections that the viewer
// cannot see are not found.
func (k *Keys) Create(ctx context.Context, in NewKey) (*CreatedKey, error) {
	in, err := k.merge(NewKey{}, in.all())
	if err != nil {
		return nil, err
	}
	client := transaction.Client(ctx, k.ent)
	if err := exist(ctx, client, in.reach()...); err != nil {
		return nil, err
	}
	made := newPair()
	row, err := client.APIKey.Create().
		SetName(in.Name).
		SetPublishableHash(hash(made.publishable)).SetSecretHash(hash(made.secret)).
		SetPublishableHint(hint(made.publishable)).SetSecretHint(hint(made.secret)).
		SetAllowAllCollections(in.AllCollections).
		SetAllowedCollections(in.Collections).
		SetNillableDefaultCollection(in.Default).
		SetAllowedHosts(in.Hosts).SetAllowedReferers(in.Referers).
		SetNillableWidgetModelID(in.ChatModel).SetNillableWidgetContext(in.ChatContext).
		SetRequireSignature(in.RequireSignature).
		SetNillableRateLimitPerMinute(in.RatePerMinute).
		SetNillableExpiresAt(in.ExpiresAt).
		Save(ctx)
	if err != nil {
		return nil, apierr.Wrap("store the key", err)
	}
	return &CreatedKey{Publishable: made.publishable, Secret: made.secret, Row: row}, nil
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

// reach are all collections that the settings name.
func (in NewKey) reach() []uuid.UUID {
	named := slices.Clone(in.Collections)
	if in.Default != nil && !slices.Contains(named, *in.Default) {
		named = append(named, *in.Default)
	}
	return named
}

func exist(ctx context.Context, client *ent.Client, collections ...uuid.UUID) error {
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

// Update changes settings of a pair. What comes out is checked as on creation,
// except that collections may have been deleted since they were named.
func (k *Keys) Update(ctx context.Context, id uuid.UUID, c KeyChange) (*ent.APIKey, error) {
	return k.change(ctx, id, func(client *ent.Client, row *ent.APIKey) (*ent.APIKey, error) {
		in, err := k.merge(settingsOf(row), c)
		if err != nil {
			return nil, err
		}
		known := settingsOf(row).reach()
		added := slices.DeleteFunc(in.reach(), func(id uuid.UUID) bool { return slices.Contains(known, id) })
		if err := exist(ctx, client, added...); err != nil {
			return nil, err
		}
		update := client.APIKey.UpdateOne(row).
			SetName(in.Name).SetAllowAllCollections(in.AllCollections).SetAllowedCollections(in.Collections).
			SetAllowedHosts(in.Hosts).SetAllowedReferers(in.Referers).SetRequireSignature(in.RequireSignature)
		patch.SetOrClear(in.Default, update.SetDefaultCollection, update.ClearDefaultCollection)
		patch.SetOrClear(in.ChatModel, update.SetWidgetModelID, update.ClearWidgetModelID)
		patch.SetOrClear(in.ChatContext, update.SetWidgetContext, update.ClearWidgetContext)
		patch.SetOrClear(in.RatePerMinute, update.SetRateLimitPerMinute, update.ClearRateLimitPerMinute)
		patch.SetOrClear(in.ExpiresAt, update.SetExpiresAt, update.ClearExpiresAt)
		return update.Save(ctx)
	})
}

// Rotate gives a pair new keys, and a new end when expires is not nil. The keys
// that it has go on working for overlapMinutes, and not beyond the end that they have;
// those of an earlier rotation end at once. A leak is forgotten with the key
// that leaked.
func (k *Keys) Rotate(ctx context.Context, id uuid.UUID, overlapMinutes int, expires *time.Time) (*CreatedKey, error) {
	if overlapMinutes < 0 || overlapMinutes > MaxOverlap {
		return nil, apierr.Invalid("overlapMinutes", fmt.Sprintf("must be 0 to %d", MaxOverlap))
	}
	if err := k.checkExpiry(&expires); err != nil {
		return nil, err
	}
	made := newPair()
	row, err := k.change(ctx, id, func(client *ent.Client, row *ent.APIKey) (*ent.APIKey, error) {
		now := k.stamp()
		switch {
		case row.RevokedAt != nil:
			return nil, apierr.New(apierr.Conflict, "The key is revoked; make a new one")
		case row.ExpiresAt != nil && !row.ExpiresAt.After(now) && expires == nil:
			return nil, apierr.Invalid("expiresAt", "must be given: the key has expired")
		}
		update := client.APIKey.UpdateOne(row).
			SetPublishableHash(hash(made.publishable)).SetSecretHash(hash(made.secret)).
			SetPublishableHint(hint(made.publishable)).SetSecretHint(hint(made.secret)).
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
	return &CreatedKey{Publishable: made.publishable, Secret: made.secret, Row: row}, nil
}

// Revoke ends all keys of a pair.
func (k *Keys) Revoke(ctx context.Context, id uuid.UUID) (*ent.APIKey, error) {
	return k.change(ctx, id, func(client *ent.Client, row *ent.APIKey) (*ent.APIKey, error) {
		if row.RevokedAt != nil {
			return row, nil
		}
		return client.APIKey.UpdateOne(row).SetRevokedAt(k.stamp()).Save(ctx)
	})
}

// stamp is the time as exact as the database keeps it.
func (k *Keys) stamp() time.Time { return k.now().Truncate(time.Microsecond) }

// change does one thing to a row that nobody else changes meanwhile, in ctx's
// transaction or one of its own. This node knows of it once it is committed.
func (k *Keys) change(ctx context.Context, id uuid.UUID, do func(*ent.Client, *ent.APIKey) (*ent.APIKey, error)) (*ent.APIKey, error) {
	if ent.TxFromContext(ctx) != nil {
		row, err := locked(ctx, transaction.Client(ctx, k.ent), id, do)
		if err == nil {
			transaction.AfterCommit(ctx, func(context.Context) { k.forget(id) })
		}
		return row, err
	}
	tx, err := k.ent.Tx(ctx)
	if err != nil {
		return nil, apierr.Wrap("change the key", err)
	}
	row, err := locked(ctx, tx.Client(), id, do)
	if err != nil {
		_ = tx.Rollback() // the first error says more
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, apierr.Wrap("change the key", err)
	}
	k.forget(id)
	return row.Unwrap(), nil
}

func locked(ctx context.Context, client *ent.Client, id uuid.UUID, do func(*ent.Client, *ent.APIKey) (*ent.APIKey, error)) (*ent.APIKey, error) {
	row, err := client.APIKey.Query().Where(apikey.ID(id)).ForUpdate().Only(ctx)
	if ent.IsNotFound(err) {
		return nil, apierr.NotFound("API key")
	}
	if err != nil {
		return nil, apierr.Wrap("read the key", err)
	}
	if row, err = do(client, row); err != nil {
		return nil, apierr.Wrap("change the key", err)
	}
	return row, nil
}

func (k *Keys) forget(id uuid.UUID) {
	k.known.Invalidate(func(r *record) bool { return r.key.ID == id })
}
