package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// rule is what a field's tag asks for, such as `rule:"required,min=1,max=20"`: the least and most of a number, or
// characters of a text, or items of a list; "one of" the words behind enum, parted by |.
type rule struct {
	required bool
	min, max *float64
	enum     []string
	format   string
}

func ruleOf(f reflect.StructField) rule {
	var r rule
	for part := range strings.SplitSeq(f.Tag.Get("rule"), ",") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "required":
			r.required = true
		case "min", "max":
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				panic("tools: the rule of " + f.Name + " cannot be read") // a mistake in this package
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

// nameOf is the name of a field on the wire.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// schemaOf is the JSON schema of an input type.
func schemaOf[In any]() json.RawMessage {
	text, err := json.Marshal(objectSchema(reflect.TypeFor[In]()))
	if err != nil {
		panic(err) // maps of texts and numbers
	}
	return text
}

func objectSchema(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		r := ruleOf(f)
		s := typeSchema(f.Type, r)
		if about := f.Tag.Get("about"); about != "" {
			s["description"] = about
		}
		properties[nameOf(f)] = s
		if r.required {
			required = append(required, nameOf(f))
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func typeSchema(t reflect.Type, r rule) map[string]any {
	s := map[string]any{}
	least, most := "minimum", "maximum"
	switch t.Kind() {
	case reflect.String:
		s["type"], least, most = "string", "minLength", "maxLength"
	case reflect.Int:
		s["type"] = "integer"
	case reflect.Float64:
		s["type"] = "number"
	case reflect.Bool:
		s["type"] = "boolean"
	case reflect.Slice:
		s["type"], s["items"], least, most = "array", typeSchema(t.Elem(), rule{}), "minItems", "maxItems"
	case reflect.Struct:
		return objectSchema(t)
	default:
		panic(fmt.Sprintf("tools: an input cannot be %s", t)) // a mistake in this package
	}
	if r.min != nil {
		s[least] = *r.min
	}
	if r.max != nil {
		s[most] = *r.max
	}
	if r.enum != nil {
		s["enum"] = r.enum
	}
	if r.format != "" {
		s["format"] = r.format
	}
	return s
}
