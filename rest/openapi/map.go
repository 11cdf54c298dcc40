package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
)

// Map is a JSON object that keeps the order of its members. The zero Map is empty
// and ready to use.
type Map[T any] struct {
	names  []string
	values map[string]T
}

// MapOf returns a Map with one member.
func MapOf[T any](name string, value T) Map[T] {
	var m Map[T]
	m.Set(name, value)
	return m
}

// Set sets the value of a member. An existing member keeps its position.
func (m *Map[T]) Set(name string, value T) {
	if m.values == nil {
		m.values = make(map[string]T)
	}
	if _, ok := m.values[name]; !ok {
		m.names = append(m.names, name)
	}
	m.values[name] = value
}

// Get returns the value of a member, and whether it exists.
func (m Map[T]) Get(name string) (T, bool) {
	value, ok := m.values[name]
	return value, ok
}

// All returns the members in order.
func (m Map[T]) All() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, name := range m.names {
			if !yield(name, m.values[name]) {
				return
			}
		}
	}
}

// IsZero reports whether the Map is empty.
func (m Map[T]) IsZero() bool { return len(m.names) == 0 }

// MarshalJSON encodes the members in order.
func (m Map[T]) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	out.WriteByte('{')
	for i, name := range m.names {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := encoder.Encode(name); err != nil {
			return nil, fmt.Errorf("encode the name %s: %w", name, err)
		}
		out.Truncate(out.Len() - 1) // without the newline
		out.WriteByte(':')
		if err := encoder.Encode(m.values[name]); err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		out.Truncate(out.Len() - 1)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
