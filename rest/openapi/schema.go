package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
)

// The types of JSON values.
const (
	String  = "string"
	Integer = "integer"
	Number  = "number"
	Boolean = "boolean"
	Array   = "array"
	Object  = "object"
	Null    = "null"
)

// Schema is a JSON Schema (2020-12).
type Schema struct {
	Ref                  string       `json:"$ref,omitempty"`
	Type                 Types        `json:"type,omitempty"`
	Description          string       `json:"description,omitempty"`
	Format               string       `json:"format,omitempty"`
	Pattern              string       `json:"pattern,omitempty"`
	Const                any          `json:"const,omitempty"`
	Enum                 []any        `json:"enum,omitempty"`
	Default              any          `json:"default,omitempty"`
	MinLength            int          `json:"minLength,omitempty"`
	MaxLength            int          `json:"maxLength,omitempty"`
	Minimum              *float64     `json:"minimum,omitempty"`
	Maximum              *float64     `json:"maximum,omitempty"`
	MinItems             int          `json:"minItems,omitempty"`
	MaxItems             int          `json:"maxItems,omitempty"`
	Items                *Schema      `json:"items,omitempty"`
	Properties           Map[*Schema] `json:"properties,omitzero"`
	Required             []string     `json:"required,omitempty"`
	AdditionalProperties *bool        `json:"additionalProperties,omitempty"` // nil allows any
	OneOf                []*Schema    `json:"oneOf,omitempty"`
	ContentMediaType     string       `json:"contentMediaType,omitempty"`
	ContentSchema        *Schema      `json:"contentSchema,omitempty"` // of the decoded content of a string
	Deprecated           bool         `json:"deprecated,omitempty"`
}

// Types has the allowed types of a value; empty allows any.
type Types []string

// MarshalJSON encodes a single type as a string.
func (t Types) MarshalJSON() ([]byte, error) {
	var value any = []string(t)
	if len(t) == 1 {
		value = t[0]
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode types: %w", err)
	}
	return raw, nil
}

// Of returns a schema of a type.
func Of(name string) *Schema { return &Schema{Type: Types{name}} }

// Refer returns a reference to the named component.
func Refer(name string) *Schema { return &Schema{Ref: "#/components/schemas/" + name} }

// Nullable returns a copy of s that allows null.
func Nullable(s *Schema) *Schema {
	if len(s.Type) == 0 {
		if s.Ref == "" && len(s.OneOf) == 0 {
			return s
		}
		return &Schema{OneOf: []*Schema{s, Of(Null)}}
	}
	wider := *s
	wider.Type = append(slices.Clone(s.Type), Null)
	if s.Enum != nil {
		wider.Enum = append(slices.Clone(s.Enum), nil)
	}
	return &wider
}
