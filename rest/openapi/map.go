package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
)

// Map is a JSON object whose members keep the order in which they were set.
// The zero Map is empty and ready to use.
type Map[T any] struct {
	names  []string
	values map[string]T
}

// MapOf makes a Map with one member.
func MapOf[T any](name string, value T) Map[T] {
	var m Map[T]
	m.Set(name, value)
	return m
}

// Set gives the named member its value; one that is there keeps its place.
func (m *Map[T]) Set(name string, value T) {
	if m.values == nil {
		m.values = make(map[string]T)
	}
	if _, ok := m.values[name]; !ok {
		m.names = append(m.names, name)
	}
	m.values[name] = value
}

// Get is the value of the named member; false when there is none.
func (m Map[T]) Get(name string) (T, bool) {
	value, ok := m.values[name]
	return value, ok
}

// All gives the members in their order.
func (m Map[T]) All() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, name := range m.names {
			if !yield(name, m.values[name]) {
				return
			}
		}
	}
}

// IsZero reports a Map without members.
func (m Map[T]) IsZero() bool { return len(m.names) == 0 }

// MarshalJSON writes the members in their order.
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
			return nil, fmt.Errorf("write the name %s: %w", name, err)
		}
		out.Truncate(out.Len() - 1) // without the line's end
		out.WriteByte(':')
		if err := encoder.Encode(m.values[name]); err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		out.Truncate(out.Len() - 1)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
