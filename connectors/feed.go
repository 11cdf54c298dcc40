package connectors

import (
	"context"
	"time"
)

// MaxTokenBytes is the largest length of the token of a [Feeder], in bytes.
const MaxTokenBytes = 64 << 10

// A Feeder is a [Source] whose platform lists what changed since a token. Its kind
// sets [Kind].Feeds. A sync reads the changes instead of walking the whole source,
// which it still does from time to time and after a token expired.
//
// The source keeps no position of its own: the token of the last completed sync
// is stored with the connector. What Changes puts into the State is stored after its
// page was processed: a sync that died reads the page again with the state from
// before. An item that could not be fetched or indexed is
// looked up again in the next sync if the source is a [Resolver]. For other sources
// the token stays until there is no such item.
type Feeder interface {
	// Changes returns the changes since a token, oldest first. The token "" returns no
	// changes and, in Next, the token of the present: a sync asks for it before it
	// walks the source, so that no change during the walk is lost. Next is empty if the
	// platform has no feed at the moment, for example for lack of a right; the sync
	// then only walks. A token that no call has returned has expired. Any other token is the Next of an earlier call, possibly days
	// old and from another process. Equal tokens give the same changes, and those that
	// happened since.
	Changes(ctx context.Context, token string) (ChangePage, error)
}

// A ChangePage is one step of reading changes. An id that is in Gone and in Items
// of a page is not gone.
type ChangePage struct {
	// Items are new items and items with another version, path or fact, at most
	// MaxPageItems: after a larger page, the source is walked. They equal those of a
	// walk, and may include unchanged ones. A folder that moved is given as all items
	// in it, with their new paths.
	Items []Item
	// Gone are ids of items that the source no longer has. Unknown ids are ignored.
	Gone []string
	// Permissions are ids of items whose readers changed. Unknown ids are ignored.
	// Readers is called with items of which only ID, Path, Version and Container are
	// set. The items in Items need not be listed if their path changed.
	Permissions []string
	// Next is the token of the next page or, if More is false, of the next sync. For a
	// container whose changes cannot be read at the moment, such as a locked site, it
	// keeps the position of the earlier token.
	Next string
	// More says that there are further changes now.
	More bool
	// Expired says that the platform no longer knows the token. The other fields have
	// no meaning then; the source is walked.
	Expired bool
	// Pause is how long the source asks to wait before the next page.
	Pause time.Duration
	// Warnings are messages about the changes for the people who may edit the
	// connector. Equal warnings are shown once a sync.
	Warnings []string
}
