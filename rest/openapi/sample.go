package openapi

import "slices"

// Samples has sample values by field name. A field without one gets any valid value.
type Samples map[string]any

// Of returns a valid value of a schema for the named field. The components resolve
// references.
func (s Samples) Of(name string, schema *Schema, components Map[*Schema]) any {
	if schema.Ref != "" {
		schema, _ = components.Get(schema.Ref[len("#/components/schemas/"):])
		return s.Of(name, schema, components)
	}
	switch {
	case schema.Const != nil:
		return schema.Const
	case len(schema.OneOf) > 0:
		return s.Of(name, schema.OneOf[0], components)
	case len(schema.Type) == 0:
		return nil
	}
	if given, ok := s[name]; ok && schema.accepts(given) {
		return given
	}
	switch {
	case schema.Default != nil:
		return schema.Default
	case len(schema.Enum) > 0:
		return schema.Enum[0]
	}
	switch schema.Type[0] {
	case Object:
		var made Map[any]
		for inner, of := range schema.Properties.All() {
			if !of.Deprecated {
				made.Set(inner, s.Of(inner, of, components))
			}
		}
		return made
	case Array:
		return []any{s.Of(name, schema.Items, components)}
	case Boolean:
		return true
	case Integer, Number:
		if schema.Minimum != nil {
			return *schema.Minimum
		}
		return 1
	case Null:
		return nil
	default:
		switch schema.Format {
		case "uuid":
			return "018f3c2a-5b7e-8a91-b0c4-2d6e8f0a1b3c"
		case "date":
			return "2026-01-31"
		case "date-time":
			return "2026-01-31T09:30:00Z"
		default:
			return "text"
		}
	}
}

// accepts reports whether a sample has the type of the schema, since fields of equal
// names may have different types.
func (s *Schema) accepts(sample any) bool {
	switch sample := sample.(type) {
	case string:
		return s.Type[0] == String && s.Format == "" && (len(s.Enum) == 0 || slices.Contains(s.Enum, any(sample)))
	case int:
		return s.Type[0] == Integer || s.Type[0] == Number
	case float64:
		return s.Type[0] == Number
	case map[string]any:
		return s.Type[0] == Object && s.Properties.IsZero()
	case []any:
		return s.Type[0] == Array && s.Items != nil && s.Items.Ref == ""
	default:
		return sample == nil && len(s.Type) > 1
	}
}
