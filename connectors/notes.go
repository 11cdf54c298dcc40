package connectors

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
)

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

// PassingNotes are Notes that are kept as long as the value is: for a source that
// is opened without any, as a connection test does. The zero value is empty; it is
// safe for concurrent use.
type PassingNotes struct {
	mu   sync.Mutex
	kept map[string][]byte
}

var _ Notes = (*PassingNotes)(nil)

// Save implements [Notes].
func (n *PassingNotes) Save(_ context.Context, name string, data []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kept == nil {
		n.kept = make(map[string][]byte)
	}
	n.kept[name] = bytes.Clone(data)
	return nil
}

// Load implements [Notes].
func (n *PassingNotes) Load(_ context.Context, name string) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return bytes.Clone(n.kept[name]), nil
}

// Names implements [Notes].
func (n *PassingNotes) Names(_ context.Context, prefix string) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var names []string
	for name := range n.kept {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Drop implements [Notes].
func (n *PassingNotes) Drop(_ context.Context, prefix string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.kept, func(name string, _ []byte) bool { return strings.HasPrefix(name, prefix) })
	return nil
}
