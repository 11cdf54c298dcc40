package arguments

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// fieldRule is a parsed tag such as `rule:"required,min=1,max=20"`. min and max
// bound a number, the characters of a string or the items of a list. enum lists
// the allowed strings, separated by |.
type fieldRule struct {
	required bool
	min, max *float64
	enum     []string
	format   string
}

func parseRule(f reflect.StructField) fieldRule {
	var r fieldRule
	for part := range strings.SplitSeq(f.Tag.Get("rule"), ",") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "required":
			r.required = true
		case "min", "max":
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				panic("arguments: the rule of " + f.Name + " is malformed") // a mistake in this package
			}
			if name == "min" {
				r.min = &n
			} else {
				r.max = &n
			}
		case "enum":
			r.enum = strings.Split(value, "|")
		case "format":
			r.format = value
		}
	}
	return r
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// Schema returns the JSON schema of an input type: a struct whose fields are strings, ints,
// float64s, bools, slices of strings, maps of strings, and structs. The tag json has the
// name, about the description, and rule the rules of a field: required, min and max (of
// a number, of the characters of a string, or of the items of a list or map), enum with
// the allowed strings separated by |, and format. It panics for any other type.
func Schema[In any]() json.RawMessage {
	text, err := json.Marshal(objectSchema(reflect.TypeFor[In]()))
	if err != nil {
		panic(err) // maps of strings and numbers always encode
	}
	return text
}

func objectSchema(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		r := parseRule(f)
		s := typeSchema(f.Type, r)
		if about := f.Tag.Get("about"); about != "" {
			s["description"] = about
		}
		properties[jsonName(f)] = s
		if r.required {
			required = append(required, jsonName(f))
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func typeSchema(t reflect.Type, r fieldRule) map[string]any {
	s := map[string]any{}
	lower, upper := "minimum", "maximum"
	switch t.Kind() {
	case reflect.String:
		s["type"], lower, upper = "string", "minLength", "maxLength"
	case reflect.Int:
		s["type"] = "integer"
	case reflect.Float64:
		s["type"] = "number"
	case reflect.Bool:
		s["type"] = "boolean"
	case reflect.Slice:
		s["type"], s["items"], lower, upper = "array", typeSchema(t.Elem(), fieldRule{}), "minItems", "maxItems"
	case reflect.Map:
		s["type"], s["additionalProperties"], lower, upper = "object", map[string]any{"type": "string"}, "minProperties", "maxProperties"
	case reflect.Struct:
		return objectSchema(t)
	default:
		panic(fmt.Sprintf("arguments: an input cannot be %s", t)) // a mistake in this package
	}
	if r.min != nil {
		s[lower] = *r.min
	}
	if r.max != nil {
		s[upper] = *r.max
	}
	if r.enum != nil {
		s["enum"] = r.enum
	}
	if r.format != "" {
		s["format"] = r.format
	}
	return s
}
