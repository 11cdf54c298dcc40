package connectortest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"magpie/connectors"
)

// Notes are those of one connector, in memory, with the limits of real ones. The
// zero value is empty.
type Notes struct {
	mu   sync.Mutex
	kept map[string][]byte
}

var _ connectors.Notes = (*Notes)(nil)

// The bounds of a note, in bytes.
const (
	maxNoteName = 200
	maxNote     = 1 << 20
)

// Save implements [connectors.Notes].
func (n *Notes) Save(_ context.Context, name string, data []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name == "" || len(name) > maxNoteName || len(data) > maxNote {
		return fmt.Errorf("the note %q of %d bytes is too large", name, len(data))
	}
	if n.kept == nil {
		n.kept = map[string][]byte{}
	}
	n.kept[name] = bytes.Clone(data)
	return nil
}

// Load implements [connectors.Notes].
func (n *Notes) Load(_ context.Context, name string) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return bytes.Clone(n.kept[name]), nil
}

// Names implements [connectors.Notes].
func (n *Notes) Names(_ context.Context, prefix string) ([]string, error) {
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

// Drop implements [connectors.Notes].
func (n *Notes) Drop(_ context.Context, prefix string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.kept, func(name string, _ []byte) bool { return strings.HasPrefix(name, prefix) })
	return nil
}

// Forget makes the notes empty.
func (n *Notes) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.kept)
}
