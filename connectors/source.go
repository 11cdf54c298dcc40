package connectors

import (
	"context"
	"errors"
	"io"
	"time"
)

const (
	// MaxPageItems is the largest number of items on a page.
	MaxPageItems = 500
	// MaxIDBytes is the largest length of [Item].ID and [Item].Path, in bytes.
	MaxIDBytes = 1024
	// MaxCursorBytes is the largest length of [Page].Next, in bytes.
	MaxCursorBytes = 4096
)

// ErrNotFound is wrapped by the error of [Source].Open for an item that the
// source does not have.
var ErrNotFound = errors.New("not found at the source")

// An Item is one thing at the source that can become a document.
type Item struct {
	// ID identifies the item at the source and never changes. It is not empty
	// and has at most MaxIDBytes bytes.
	ID string
	// Path is the place of the item as people see it, slash-separated, without
	// a leading slash. Filters match it.
	Path string
	// Version changes whenever the content does: an etag, a revision, a hash. It
	// is empty if the source has no versions.
	Version string
	// Title, URL, MediaType and Author are hints from the source, empty if
	// unknown. Citations link to URL.
	Title, URL, MediaType, Author string
	// Container is the part of the source that the item belongs to, such as a drive,
	// a site or a project: a stable id of at most MaxIDBytes bytes, empty for a source
	// without parts.
	Container string
	// Size is the length of the content in bytes, or -1 if unknown.
	Size int64
	// CreatedAt and ModifiedAt are in UTC, zero if unknown.
	CreatedAt, ModifiedAt time.Time
	// Metadata holds further facts to keep with the document. It may be nil.
	Metadata map[string]string
	// Content is the content, if the walk read it already. If it is nil, the
	// caller uses Open.
	Content []byte
}

// A Page is one step of a walk.
type Page struct {
	// Items holds at most MaxPageItems items. Any page may be empty.
	Items []Item
	// Next is the cursor of the next page. It has no meaning if Done is true.
	Next string
	// Done says that the walk is complete.
	Done bool
	// Pause is how long the source asks to wait before the next page.
	Pause time.Duration
	// Total is the number of items of the whole walk, as the platform tells it,
	// possibly an estimate. It is 0 if the platform does not tell it.
	Total int
	// Incomplete lists containers that the walk cannot list completely, such as a
	// locked site. Items of these containers that are missing from the walk are not
	// taken for deleted. "" stands for the whole source. A warning says why.
	Incomplete []string
	// Warnings are messages about the walk for the people who may edit the
	// connector. Equal warnings are shown once a sync.
	Warnings []string
	// NoInterrupt says that all items must be processed before the walk is
	// interrupted, because reading the page again would be expensive. Such a page
	// is small.
	NoInterrupt bool
}

// A Source is an opened connector. Its methods may be called concurrently. The
// people who may edit the connector see the text of its errors: the text says
// what to do, and holds no secret.
type Source interface {
	// Walk returns the page at a cursor. "" is the start. Any other cursor is the
	// Next of an earlier page, possibly days old and from another process. Equal
	// cursors give the same page, or a newer state of it. For a cursor that no
	// page has returned, Walk returns an error or an ordinary page.
	Walk(ctx context.Context, cursor string) (Page, error)
	// Open returns the content of an item. The error is ErrNotFound if the source
	// does not have the item, and retryable if the source has another version than
	// the item's. The caller closes the reader.
	Open(ctx context.Context, item Item) (io.ReadCloser, error)
	// Check tests the connection and the rights that a sync needs. The person who
	// sets up the connector reads its error.
	Check(ctx context.Context) error
	// Close frees the resources of the source, which must not be used afterwards.
	// It may be called twice.
	Close() error
}
