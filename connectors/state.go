package connectors

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

const (
	// MaxStateKey is the largest length of a key of a [State], in bytes.
	MaxStateKey = 200
	// MaxStateValue is the largest length of a value of a [State], in bytes.
	MaxStateValue = 1 << 20
)

// A State is a key-value store for what a source must remember beyond its
// cursor. It belongs to one connector, is shared by all processes, and is deleted
// with the connector. A value that was put before a page was returned is there
// when the next page is read.
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

// GetJSON decodes the value of a key into v and reports whether it did. An
// absent value, a value that cannot be decoded into v, and a nil State are no
// errors.
func GetJSON(ctx context.Context, s State, key string, v any) (ok bool, err error) {
	if s == nil {
		return false, nil
	}
	data, err := s.Get(ctx, key)
	if err != nil {
		return false, fmt.Errorf("read the connector's state: %w", err)
	}
	return len(data) > 0 && json.Unmarshal(data, v) == nil, nil
}

// PutJSON encodes v as the value of a key. It does nothing if the State is nil or
// the encoded value is larger than MaxStateValue.
func PutJSON(ctx context.Context, s State, key string, v any) error {
	if s == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the connector's state: %w", err)
	}
	if len(data) > MaxStateValue {
		return nil
	}
	if err := s.Put(ctx, key, data); err != nil {
		return fmt.Errorf("write the connector's state: %w", err)
	}
	return nil
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
