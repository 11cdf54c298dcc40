package chat

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/collection"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxMessage is the maximum length of a message in characters.
const maxMessage = 4000

func validate(message string) error {
	if utf8.RuneCountInString(message) > maxMessage {
		return apierr.Invalid("message", "must be at most "+strconv.Itoa(maxMessage)+" characters")
	}
	if err := check.Storable("message", message); err != nil {
		return err
	}
	if !strings.ContainsFunc(message, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }) {
		return apierr.Invalid("message", "must not be blank")
	}
	return nil
}

// resolveScope returns the scope of a question. pinned is its only collection,
// or zero if there is no single one.
func (c *Chat) resolveScope(ctx context.Context, v viewer.Viewer, requested uuid.UUID) (scope viewer.Scope, pinned uuid.UUID, err error) {
	scope, err = v.Scope()
	if err != nil {
		return viewer.Scope{}, uuid.Nil, err
	}
	switch {
	case requested != uuid.Nil:
		pinned, err = requested, c.checkCollection(ctx, v, scope, requested)
	case v.Kind == viewer.KindKey:
		pinned, err = c.collectionOfKey(ctx, v, scope)
	default:
		return scope, uuid.Nil, nil
	}
	if err != nil {
		return viewer.Scope{}, uuid.Nil, err
	}
	scope, err = scope.Narrow(pinned)
	return scope, pinned, err
}

// checkCollection checks a requested collection. It does not reveal to a key
// whether a collection exists outside the scope of the key.
func (c *Chat) checkCollection(ctx context.Context, v viewer.Viewer, scope viewer.Scope, id uuid.UUID) error {
	_, err := scope.Narrow(id)
	found := false
	if err == nil {
		found, err = c.client.Collection.Query().Where(collection.ID(id)).Exist(ctx)
	}
	switch {
	case err != nil && !errors.Is(err, viewer.ErrOutOfScope):
		return err
	case found:
		return nil
	case v.Kind == viewer.KindKey || err != nil:
		return &apierr.Error{Code: apierr.Forbidden, Message: "Collection access denied", Cause: err}
	default:
		return apierr.NotFound("Collection")
	}
}

// collectionOfKey returns the collection of a key that requests none: the key's
// default, or the oldest one in its scope. Without either it is forbidden.
func (c *Chat) collectionOfKey(ctx context.Context, v viewer.Viewer, scope viewer.Scope) (uuid.UUID, error) {
	if v.DefaultCollection != uuid.Nil {
		err := c.checkCollection(ctx, v, scope, v.DefaultCollection)
		if err == nil {
			return v.DefaultCollection, nil
		}
		if apierr.From(err).Code != apierr.Forbidden {
			return uuid.Nil, err
		}
	}
	id, err := c.client.Collection.Query().
		Order(ent.Asc(collection.FieldCreatedAt, collection.FieldID)).FirstID(ctx)
	if ent.IsNotFound(err) {
		return uuid.Nil, apierr.New(apierr.Forbidden, "Collection access denied")
	}
	return id, err
}
