package connectors

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A State is a key-value store for what a source must remember beyond its
// cursor. It belongs to one connector, is shared by all processes, and is deleted
// with the connector. Keys have at most 200 bytes, values at most 1 MiB. A value
// that was put before a page was returned is there when the next page is read.
type State interface {
	// Put sets the value of a key.
	Put(ctx context.Context, key string, value []byte) error
	// Get returns the value of a key, or nil if there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// Keys returns the keys with a prefix, sorted by bytes.
	Keys(ctx context.Context, prefix string) ([]string, error)
	// DeletePrefix deletes all keys with a prefix.
	DeletePrefix(ctx context.Context, prefix string) error
}

// A MemoryState is a [State] in memory, for sources that are opened without one,
// as in a connection test. The zero value is empty. It is safe for concurrent
// use.
type MemoryState struct {
	mu     sync.Mutex
	values map[string][]byte
}

var _ State = (*MemoryState)(nil)

// Put implements [State].
func (s *MemoryState) Put(_ context.Context, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = make(map[string][]byte)
	}
	s.values[key] = bytes.Clone(value)
	return nil
}

// Get implements [State].
func (s *MemoryState) Get(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.values[key]), nil
}

// Keys implements [State].
func (s *MemoryState) Keys(_ context.Context, prefix string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key := range s.values {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// DeletePrefix implements [State].
func (s *MemoryState) DeletePrefix(_ context.Context, prefix string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.values, func(key string, _ []byte) bool { return strings.HasPrefix(key, prefix) })
	return nil
}
