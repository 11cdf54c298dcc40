package connectors

import (
	"context"
	"errors"
	"io"
	"time"
)

const (
	// MaxPageItems is the largest number of items a page may hold.
	MaxPageItems = 500
	// MaxIDBytes is the length limit of [Item].ID and [Item].Path, in bytes.
	MaxIDBytes = 1024
	// MaxCursorBytes is the length limit of [Page].Next, in bytes.
	MaxCursorBytes = 4096
)

// ErrNotFound is returned (wrapped) by [Source].Open when the item is gone from
// the source or was never in it.
var ErrNotFound = errors.New("not found at the source")

// Item is one thing at the source that can become a document.
type Item struct {
	// ID names the item for as long as it lives at the source. At most
	// MaxIDBytes bytes, never empty.
	ID string
	// Path is where a person would say the item is, slash separated and without
	// a leading slash. Filters and a sync's file_filter match it.
	Path string
	// Version changes whenever the content does (an etag, a revision, a hash).
	// Empty means the source does not tell.
	Version string
	// Title, URL, MediaType and Author are hints of the source; empty means
	// unknown. URL is what a citation links to.
	Title, URL, MediaType, Author string
	// Size is the length of the content in bytes, or -1 when unknown.
	Size int64
	// CreatedAt and ModifiedAt are in UTC; the zero time means unknown.
	CreatedAt, ModifiedAt time.Time
	// Metadata holds further facts of the source worth keeping with the
	// document. May be nil.
	Metadata map[string]string
	// Content is what Open would give, where the walk had it at hand anyway. Nil
	// asks Open.
	Content []byte
}

// Page is one step of a walk.
type Page struct {
	// Items holds at most MaxPageItems items and may be empty before the end.
	Items []Item
	// Next is the cursor of the page that follows. It is only meaningful when
	// Done is false.
	Next string
	// Done says that the walk has reached the end.
	Done bool
	// Pause is how long the source asks to be left alone before the next page.
	Pause time.Duration
	// Warnings are what the people who may edit the connector should know of the
	// walk so far, each said once a sync.
	Warnings []string
	// Whole asks that all items are brought to their outcomes before the walk is
	// interrupted: to have the page again would cost the source what it has cost.
	// Such a page is small.
	Whole bool
}

// Source is an opened connector. All methods may be called at the same time
// from several goroutines. The text of every error is fit to be shown to the
// people who may edit the connector: it says what to do and holds no secret.
type Source interface {
	// Walk returns the page at a cursor: "" is the start, any other value was
	// the Next of an earlier page, perhaps days ago and in another process. The
	// same cursor twice gives the same page or a later state of it. A cursor
	// that no page ever gave is an error or an ordinary page, nothing else.
	Walk(ctx context.Context, cursor string) (Page, error)
	// Open returns the content of an item. It returns ErrNotFound when the item
	// is gone, and a retryable error when the source now holds another version
	// than the item names. The caller closes the reader.
	Open(ctx context.Context, item Item) (io.ReadCloser, error)
	// Check tests the connection and the rights a sync needs. Its error is what
	// the person setting the connector up gets to read.
	Check(ctx context.Context) error
	// Close frees what the source holds; the source is of no use after it.
	// Closing twice is no error.
	Close() error
}

// PermissionLister is an optional ability of a [Source]: telling who may see
// what. A kind whose sources have it says so in [Kind].Permissions.
type PermissionLister interface {
	// Readers returns who may see the items, by their ids. Items that a walk
	// named are asked for, at most MaxPageItems at once; one that is missing from
	// the answer, or has no reader, may be seen by nobody. Errors are those of
	// every other method.
	Readers(ctx context.Context, items []Item) (map[string]Readers, error)
}

// Readers are those who may see an item at the source.
type Readers struct {
	// Everyone says that whoever reaches the source sees the item; Principals
	// are of no account then.
	Everyone bool
	// Principals name people and groups: "user:ada@example.com", the address in
	// lower case, and "group:" with the source's own id of the group.
	Principals []string
}

// Resolver is an optional ability of a [Source]: looking items up by name
// without a walk.
type Resolver interface {
	// Resolve returns the items with these names, each item once, and the names
	// at which there is none. A name is an [Item].Path or, for a kind with a
	// Webhook, an [Item].ID. Found items equal those a walk gives.
	Resolve(ctx context.Context, names []string) (found []Item, missing []string, err error)
}
