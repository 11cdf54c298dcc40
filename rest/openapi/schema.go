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

// Schema says which values are valid, in the terms of JSON Schema 2020-12.
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
	AdditionalProperties *bool        `json:"additionalProperties,omitempty"` // said where it surprises; any are welcome where nothing is said
	OneOf                []*Schema    `json:"oneOf,omitempty"`
	ContentMediaType     string       `json:"contentMediaType,omitempty"`
	Deprecated           bool         `json:"deprecated,omitempty"`
}

// Types are the types that a value may have: one of them, or none for any.
type Types []string

// MarshalJSON writes a single type without a list around it.
func (t Types) MarshalJSON() ([]byte, error) {
	var value any = []string(t)
	if len(t) == 1 {
		value = t[0]
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("write a schema's types: %w", err)
	}
	return raw, nil
}

// Of makes a schema of one type.
func Of(name string) *Schema { return &Schema{Type: Types{name}} }

// Refer makes a schema that is the named component.
func Refer(name string) *Schema { return &Schema{Ref: "#/components/schemas/" + name} }

// Nullable is s with null as another valid value; s itself stays as it is.
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
