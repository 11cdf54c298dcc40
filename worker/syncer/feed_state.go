package syncer

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/magpie-search/magpie/connectors"
)

// feedState holds back what a source stores while it reads a page of changes, until
// the page is processed. A sync that dies in between reads the same page again,
// with the state from before: a source that knew already where a folder is would
// not report its files as moved.
type feedState struct {
	stored connectors.State

	mu      sync.Mutex
	holding bool
	values  map[string][]byte // nil for a deleted key
	changes []stateChange     // in order
}

// A stateChange is a Put, or a DeletePrefix if there is no value.
type stateChange struct {
	key   string
	value []byte
}

// useFeedState gives the source of a kind with a feed a state that can be held back.
func (s *slice) useFeedState(settings *connectors.Settings) {
	if s.kind.Feeds && settings.State != nil {
		s.state = &feedState{stored: settings.State, values: map[string][]byte{}}
		settings.State = s.state
	}
}

// hold makes later changes wait for flush.
func (f *feedState) hold() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holding = true
}

// flush stores what was held back. With end, later changes are stored at once.
func (f *feedState) flush(ctx context.Context, end bool) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.changes) > 0 {
		var err error
		if c := f.changes[0]; c.value == nil {
			err = f.stored.DeletePrefix(ctx, c.key)
		} else {
			err = f.stored.Put(ctx, c.key, c.value)
		}
		if err != nil {
			return err
		}
		f.changes = f.changes[1:]
	}
	f.values = map[string][]byte{}
	f.holding = f.holding && !end
	return nil
}

// discard forgets what was held back. Later changes are stored at once.
func (f *feedState) discard() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes, f.values, f.holding = nil, map[string][]byte{}, false
}

// Put implements [connectors.State].
func (f *feedState) Put(ctx context.Context, key string, value []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.holding || key == "" || len(key) > connectors.MaxStateKey || len(value) > connectors.MaxStateValue {
		return f.stored.Put(ctx, key, value) // or its error
	}
	value = append([]byte{}, value...)
	f.values[key] = value
	f.changes = append(f.changes, stateChange{key, value})
	return ctx.Err()
}

// Get implements [connectors.State].
func (f *feedState) Get(ctx context.Context, key string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if value, held := f.values[key]; held {
		return bytes.Clone(value), ctx.Err()
	}
	return f.stored.Get(ctx, key)
}

// Keys implements [connectors.State].
func (f *feedState) Keys(ctx context.Context, prefix string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keys(ctx, prefix)
}

func (f *feedState) keys(ctx context.Context, prefix string) ([]string, error) {
	stored, err := f.stored.Keys(ctx, prefix)
	if err != nil {
		return nil, err
	}
	keys := make(map[string]bool, len(stored))
	for _, key := range stored {
		keys[key] = true
	}
	for key, value := range f.values {
		if strings.HasPrefix(key, prefix) {
			keys[key] = value != nil
		}
	}
	maps.DeleteFunc(keys, func(_ string, exists bool) bool { return !exists })
	return slices.Sorted(maps.Keys(keys)), nil
}

// DeletePrefix implements [connectors.State].
func (f *feedState) DeletePrefix(ctx context.Context, prefix string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.holding {
		return f.stored.DeletePrefix(ctx, prefix)
	}
	keys, err := f.keys(ctx, prefix)
	if err != nil {
		return err
	}
	for _, key := range keys {
		f.values[key] = nil
	}
	f.changes = append(f.changes, stateChange{key: prefix})
	return nil
}
