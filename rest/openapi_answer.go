package rest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/rest/openapi"
)

// nameObjects returns names for the object schemas of all results: the name of the
// type, followed by the first operation if results have different fields of it.
func (d *describer) nameObjects(table []*route) map[string]string {
	type selection struct{ signature, operation string }
	found := map[string][]selection{}
	var walk func(s *shape, operation string)
	walk = func(s *shape, operation string) {
		if s.kind == object && !d.isRoot(s) {
			out := selection{s.signature(), operation}
			known := found[s.of.Name]
			if !slices.ContainsFunc(known, func(k selection) bool { return k.signature == out.signature }) {
				found[s.of.Name] = append(known, out)
			}
		}
		for _, m := range s.members {
			inner := m.shape
			if inner.kind == connection {
				inner = inner.lookup("edges.node")
			}
			if m.key == inlineAlias {
				for _, lifted := range inner.members {
					walk(lifted.shape, operation)
				}
				continue
			}
			walk(inner, operation)
		}
	}
	for _, r := range table {
		switch o := d.operations[r.Operation]; {
		case r.Status == 204:
		case o.stream:
			for _, m := range o.shape.lookup("event").members {
				walk(m.shape, r.Operation)
			}
		case r.answer == ".":
			walk(o.shape, r.Operation)
		default:
			at := o.shape.lookup(r.answer)
			if at.kind == connection {
				at = at.lookup("edges.node")
			}
			walk(at, r.Operation)
		}
	}
	names := map[string]string{}
	for name, selections := range found {
		inside := map[string]int{} // an operation may select different fields of a type
		for _, s := range selections {
			names[s.signature] = name
			if len(selections) > 1 {
				names[s.signature] = name + "Of" + s.operation
			}
			if inside[s.operation]++; inside[s.operation] > 1 {
				names[s.signature] += strconv.Itoa(inside[s.operation])
			}
		}
	}
	return names
}

// isRoot reports whether a shape is the root of an operation, which has no name.
func (d *describer) isRoot(s *shape) bool {
	return s.of == d.schema.Query || s.of == d.schema.Mutation || s.of == d.schema.Subscription
}

// signature identifies the shape of a type.
func (s *shape) signature() string {
	var out strings.Builder
	out.WriteString(s.of.Name)
	if s.kind == object || s.kind == connection {
		out.WriteByte('{')
		for _, m := range s.members {
			fmt.Fprintf(&out, "%s%v:%s=%s ", m.key, m.on, m.field.Type, m.shape.signature())
		}
		out.WriteByte('}')
	}
	return out.String()
}

// value describes a part of a result by its shape and type.
func (d *describer) value(s *shape, t *ast.Type) *openapi.Schema {
	var out *openapi.Schema
	switch {
	case s.kind == connection:
		out = openapi.Of(openapi.Array)
		out.Items = d.element(s.lookup("edges.node")) // the schema allows null nodes, but there are none
	case s.list && t.Elem.Elem != nil: // rows of scalars
		out = openapi.Of(openapi.Array)
		out.Items = d.value(s, t.Elem)
	case s.list:
		out = openapi.Of(openapi.Array)
		if out.Items = d.element(s); !t.Elem.NonNull {
			out.Items = openapi.Nullable(out.Items)
		}
	default:
		out = d.element(s)
	}
	if !t.NonNull {
		out = openapi.Nullable(out)
	}
	return out
}

// element describes a part of a result without its list and nullability.
func (d *describer) element(s *shape) *openapi.Schema {
	switch {
	case s.kind == enumKind:
		d.component(s.of.Name, func() *openapi.Schema {
			out := openapi.Of(openapi.String)
			out.Description = sentence(s.of.Description)
			for _, v := range s.of.EnumValues {
				out.Enum = append(out.Enum, strings.ToLower(v.Name))
			}
			return out
		})
		return openapi.Refer(s.of.Name)
	case s.kind == scalarKind:
		return scalar(s.of.Name)
	case s.abstract:
		out := &openapi.Schema{}
		for _, kind := range d.schema.GetPossibleTypes(s.of) {
			out.OneOf = append(out.OneOf, d.object(s, kind.Name))
		}
		return out
	case d.isRoot(s):
		return d.object(s, "")
	default:
		name := d.names[s.signature()]
		d.component(name, func() *openapi.Schema { return d.object(s, "") })
		return openapi.Refer(name)
	}
}

// component adds a schema unless its name exists.
func (d *describer) component(name string, build func() *openapi.Schema) {
	if _, ok := d.doc.Components.Schemas.Get(name); ok {
		return
	}
	d.doc.Components.Schemas.Set(name, nil) // reserves the position before the schemas that build adds
	d.doc.Components.Schemas.Set(name, build())
}

// object describes the fields of an object or of the concrete type of a union or
// interface.
func (d *describer) object(s *shape, concrete string) *openapi.Schema {
	out := openapi.Of(openapi.Object)
	out.Description = sentence(s.of.Description)
	if concrete != "" {
		out.Description = sentence(d.schema.Types[concrete].Description)
	}
	d.fields(out, s, concrete, false)
	return out
}

func (d *describer) fields(to *openapi.Schema, s *shape, concrete string, nullable bool) {
	for _, m := range s.members {
		if m.on != nil && !slices.Contains(m.on, concrete) {
			continue
		}
		if m.key == inlineAlias {
			d.fields(to, m.shape, "", nullable || !m.field.Type.NonNull)
			continue
		}
		fieldType := m.field.Type
		if m.sparse() { // never null
			notNull := *fieldType
			notNull.NonNull = true
			fieldType = &notNull
		}
		out := d.value(m.shape, fieldType)
		if nullable && fieldType.NonNull && !m.sparse() {
			out = openapi.Nullable(out)
		}
		if about := sentence(m.field.Description); about != "" {
			described := *out
			described.Description = about
			out = &described
		}
		to.Properties.Set(m.key, out)
		if !m.sparse() && m.key != refreshTokenKey { // which a cookie may replace
			to.Required = append(to.Required, m.key) // all other fields are present or null
		}
	}
}

// scalar describes a GraphQL scalar.
func scalar(name string) *openapi.Schema {
	switch name {
	case "ID":
		s := openapi.Of(openapi.String)
		s.Format = "uuid"
		return s
	case "Time":
		s := openapi.Of(openapi.String)
		s.Format = "date-time"
		return s
	case "String", "Cursor":
		return openapi.Of(openapi.String)
	case "Int":
		return openapi.Of(openapi.Integer)
	case "Int64":
		s := openapi.Of(openapi.Integer)
		s.Format = "int64"
		return s
	case "Float":
		return openapi.Of(openapi.Number)
	case "Boolean":
		return openapi.Of(openapi.Boolean)
	case "Map":
		s := openapi.Of(openapi.Object)
		s.AdditionalProperties = new(true)
		return s
	default: // any value; languages of clients have no types for a choice of scalars
		return &openapi.Schema{}
	}
}

// events describes a stream: a text whose content is a sequence of events.
func (d *describer) events(o *operation) *openapi.MediaType {
	s := o.shape.lookup("event")
	item := &openapi.Schema{Description: "One event: its name and its data, parsed as JSON."}
	var text strings.Builder
	for _, kind := range d.schema.GetPossibleTypes(s.of) {
		name, data := streamEvent{kind: kind.Name}.name(), kind.Name
		switch kind.Name {
		case "ChatStart":
			continue // sent as a header
		case "StreamError", "AgentError":
			name, data = "error", errorName
		default:
			d.component(data, func() *openapi.Schema { return d.object(s, kind.Name) })
		}
		event := openapi.Of(openapi.Object)
		event.Properties.Set("event", &openapi.Schema{Type: openapi.Types{openapi.String}, Const: name})
		event.Properties.Set("data", openapi.Refer(data))
		event.Required = []string{"event", "data"}
		item.OneOf = append(item.OneOf, event)
		if name != "error" {
			text.Write(appendEvent(nil, name, encode(d.sample("", openapi.Refer(data)))))
		}
	}
	name := o.name + "Event"
	d.doc.Components.Schemas.Set(name, item)
	schema := openapi.Of(openapi.String)
	schema.ContentMediaType, schema.ContentSchema = eventStream, openapi.Of(openapi.Array)
	schema.ContentSchema.Items = openapi.Refer(name)
	schema.Description = "Server-sent events. The data of each event is one JSON value. Comment lines keep an idle stream open. The last event marks the end of the answer, or is error."
	return &openapi.MediaType{Schema: schema, Example: text.String()}
}
