package openapi

import "slices"

// Samples are the values to take for texts, numbers and objects, by the name of
// the field; a field that they do not have gets any value that fits.
type Samples map[string]any

// Of makes a value of a schema, for the named field. Components are what its
// references mean.
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
	if given, ok := s[name]; ok && schema.takes(given) {
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

// takes reports a sample of the schema's own type: a field of one name may be a
// text here and a number there.
func (s *Schema) takes(sample any) bool {
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
