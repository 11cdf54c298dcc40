package chat

import (
	"context"
	"errors"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/collection"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxMessage is the longest message in characters.
const maxMessage = 4000

func validate(message string) error {
	switch {
	case !utf8.ValidString(message):
		return apierr.Invalid("message", "must be valid UTF-8")
	case utf8.RuneCountInString(message) > maxMessage:
		return apierr.Invalid("message", "must be at most "+strconv.Itoa(maxMessage)+" characters")
	}
	blank := true
	for _, r := range message {
		if r == 0 {
			return apierr.Invalid("message", "must not contain NUL characters")
		}
		blank = blank && (unicode.IsSpace(r) || !unicode.IsGraphic(r))
	}
	if blank {
		return apierr.Invalid("message", "must not be blank")
	}
	return nil
}

// reach decides what a question is answered from. pinned is the one collection it comes to, zero where it is not one.
func (c *Chat) reach(ctx context.Context, v viewer.Viewer, wanted uuid.UUID) (scope viewer.Scope, pinned uuid.UUID, err error) {
	scope, err = v.Scope()
	if err != nil {
		return viewer.Scope{}, uuid.Nil, err
	}
	switch {
	case wanted != uuid.Nil:
		pinned, err = wanted, c.reachable(ctx, v, scope, wanted)
	case v.Kind == viewer.KindKey:
		pinned, err = c.ofKey(ctx, v, scope)
	default:
		return scope, uuid.Nil, nil
	}
	if err != nil {
		return viewer.Scope{}, uuid.Nil, err
	}
	scope, err = scope.Narrow(pinned)
	return scope, pinned, err
}

// reachable checks a collection that was asked for. Keys are not told whether a collection exists that they cannot reach.
func (c *Chat) reachable(ctx context.Context, v viewer.Viewer, scope viewer.Scope, id uuid.UUID) error {
	_, err := scope.Narrow(id)
	found := false
	if err == nil {
		found, err = c.client.Collection.Query().Where(collection.ID(id)).Exist(ctx)
	}
	switch {
	case err != nil && !errors.Is(err, viewer.ErrOutOfReach):
		return err
	case found:
		return nil
	case v.Kind == viewer.KindKey || err != nil:
		return &apierr.Error{Code: apierr.Forbidden, Message: "Collection access denied", Cause: err}
	default:
		return apierr.NotFound("Collection")
	}
}

// ofKey is the collection of a key that names none: its default, else the oldest it reaches; forbidden when there is none.
func (c *Chat) ofKey(ctx context.Context, v viewer.Viewer, scope viewer.Scope) (uuid.UUID, error) {
	if v.DefaultCollection != uuid.Nil {
		err := c.reachable(ctx, v, scope, v.DefaultCollection)
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
