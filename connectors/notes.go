package connectors

import "context"

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
