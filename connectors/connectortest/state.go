package connectortest

import (
	"context"
	"fmt"

	"github.com/magpie-search/magpie/connectors"
)

// A State is a [connectors.MemoryState] with the limits of the stored one. The
// zero value is empty.
type State struct{ connectors.MemoryState }

// Put implements [connectors.State].
func (n *State) Put(ctx context.Context, name string, data []byte) error {
	if name == "" || len(name) > connectors.MaxStateKey || len(data) > connectors.MaxStateValue {
		return fmt.Errorf("the value of %q has %d bytes, or the key is invalid", name, len(data))
	}
	return n.MemoryState.Put(ctx, name, data)
}

// Clone returns a copy.
func (n *State) Clone() *State {
	ctx, copied := context.Background(), &State{}
	keys, _ := n.Keys(ctx, "") // a state in memory never fails
	for _, key := range keys {
		value, _ := n.Get(ctx, key)
		_ = copied.Put(ctx, key, value)
	}
	return copied
}

// Clear deletes all keys.
func (n *State) Clear() {
	_ = n.DeletePrefix(context.Background(), "") // never fails
}
