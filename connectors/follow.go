package connectors

import (
	"context"
	"errors"
	"time"
)

// Follower is an optional ability of a [Source]: telling what changed since a
// moment, without a walk.
type Follower interface {
	// Mark returns the present moment, from which a later Follow tells everything.
	// It is asked for before a walk begins, so that nothing falls in between.
	Mark(ctx context.Context) (string, error)
	// Follow returns a page of what changed after a mark, items that are gone
	// with [Item].Gone. Next is the mark of the page after it; with Done it is
	// the one to go on from next time. ErrMark asks for a walk.
	Follow(ctx context.Context, mark string) (Page, error)
}

// ErrMark is returned (wrapped) by [Follower].Follow for a mark that the source
// does not know any more.
var ErrMark = errors.New("the source does not tell changes from so long ago")

// Subscriber is an optional ability of a [Source]: having the platform send
// webhooks, where it has to be asked to.
type Subscriber interface {
	// Subscribe asks for deliveries to an address, signed or marked with a
	// secret. A subscription of the same connector that is there already is
	// renewed or replaced.
	Subscribe(ctx context.Context, address, secret string) (Subscription, error)
	// Unsubscribe ends a subscription; one that is gone is no error.
	Unsubscribe(ctx context.Context, s Subscription) error
}

// Subscription is one that a platform has given.
type Subscription struct {
	ID string
	// Expires is when it ends unless it is renewed by then; zero for never.
	Expires time.Time
}

// Notes are what a source has to remember beyond its cursor, whatever process
// goes on with it. They are the connector's and end with it. Names are at most
// 200 bytes, data at most 1 MiB. What was saved before a page was returned is
// there when the page after it is asked for.
type Notes interface {
	// Save keeps data under a name, in place of what was there.
	Save(ctx context.Context, name string, data []byte) error
	// Load returns what is kept under a name, nil for nothing.
	Load(ctx context.Context, name string) ([]byte, error)
	// Names returns all names that begin with a prefix, in the order of their bytes.
	Names(ctx context.Context, prefix string) ([]string, error)
	// Drop forgets all names that begin with a prefix.
	Drop(ctx context.Context, prefix string) error
}
