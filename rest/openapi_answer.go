package rest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/rest/openapi"
)

// nameObjects names the object schemas of all answers: by their type, and where
// answers show different fields of one type by the first operation that does.
func (d *describer) nameObjects(table []*route) map[string]string {
	type selection struct{ signature, operation string }
	found := map[string][]selection{}
	var walk func(s *shape, operation string)
	walk = func(s *shape, operation string) {
		if s.kind == object && !d.inlined(s) {
			made := selection{s.signature(), operation}
			known := found[s.of.Name]
			if !slices.ContainsFunc(known, func(k selection) bool { return k.signature == made.signature }) {
				found[s.of.Name] = append(known, made)
			}
		}
		for _, m := range s.members {
			inner := m.shape
			if inner.kind == connection {
				inner = inner.at("edges.node")
			}
			if m.key == lift {
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
			for _, m := range o.shape.at("event").members {
				walk(m.shape, r.Operation)
			}
		case r.answer == ".":
			walk(o.shape, r.Operation)
		default:
			at := o.shape.at(r.answer)
			if at.kind == connection {
				at = at.at("edges.node")
			}
			walk(at, r.Operation)
		}
	}
	names := map[string]string{}
	for name, selections := range found {
		inside := map[string]int{} // one operation may select a type in several ways
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

// inlined reports an object that gets no name: the root of an operation.
func (d *describer) inlined(s *shape) bool {
	return s.of == d.schema.Query || s.of == d.schema.Mutation || s.of == d.schema.Subscription
}

// signature tells apart the shapes of one type.
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

// value describes a part of an answer, of a type of the schema.
func (d *describer) value(s *shape, t *ast.Type) *openapi.Schema {
	var made *openapi.Schema
	switch {
	case s.kind == connection:
		made = openapi.Of(openapi.Array)
		made.Items = d.one(s.at("edges.node")) // the schema lets a node be null; no connection of ours has such a one
	case s.list:
		made = openapi.Of(openapi.Array)
		if made.Items = d.one(s); !t.Elem.NonNull {
			made.Items = openapi.Nullable(made.Items)
		}
	default:
		made = d.one(s)
	}
	if !t.NonNull {
		made = openapi.Nullable(made)
	}
	return made
}

// one describes a part of an answer by itself: neither the list that it is in,
// nor whether it may be null.
func (d *describer) one(s *shape) *openapi.Schema {
	switch {
	case s.kind == lowered:
		d.component(s.of.Name, func() *openapi.Schema {
			made := openapi.Of(openapi.String)
			made.Description = sentence(s.of.Description)
			for _, v := range s.of.EnumValues {
				made.Enum = append(made.Enum, strings.ToLower(v.Name))
			}
			return made
		})
		return openapi.Refer(s.of.Name)
	case s.kind == asIs:
		return scalar(s.of.Name)
	case s.typed:
		made := &openapi.Schema{}
		for _, kind := range d.schema.GetPossibleTypes(s.of) {
			made.OneOf = append(made.OneOf, d.object(s, kind.Name))
		}
		return made
	case d.inlined(s):
		return d.object(s, "")
	default:
		name := d.names[s.signature()]
		d.component(name, func() *openapi.Schema { return d.object(s, "") })
		return openapi.Refer(name)
	}
}

// component adds a schema under a name that is not there yet.
func (d *describer) component(name string, build func() *openapi.Schema) {
	if _, ok := d.doc.Components.Schemas.Get(name); ok {
		return
	}
	d.doc.Components.Schemas.Set(name, nil) // keeps the place before what build adds
	d.doc.Components.Schemas.Set(name, build())
}

// object describes an object's fields; of a union or interface, those of the
// concrete type.
func (d *describer) object(s *shape, concrete string) *openapi.Schema {
	made := openapi.Of(openapi.Object)
	made.Description = sentence(s.of.Description)
	if concrete != "" {
		made.Description = sentence(d.schema.Types[concrete].Description)
	}
	d.fields(made, s, concrete, false)
	return made
}

func (d *describer) fields(to *openapi.Schema, s *shape, concrete string, nullable bool) {
	for _, m := range s.members {
		if m.on != nil && !slices.Contains(m.on, concrete) {
			continue
		}
		if m.key == lift {
			d.fields(to, m.shape, "", nullable || !m.field.Type.NonNull)
			continue
		}
		made := d.value(m.shape, m.field.Type)
		if nullable && m.field.Type.NonNull {
			made = openapi.Nullable(made)
		}
		if about := sentence(m.field.Description); about != "" {
			described := *made
			described.Description = about
			made = &described
		}
		to.Properties.Set(m.key, made)
		if m.field.Directives.ForName(sparseDirective) == nil {
			to.Required = append(to.Required, m.key) // every other field is there, if only as null
		}
	}
}

// scalar describes what GraphQL leaves to its servers.
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
	case "Any":
		return &openapi.Schema{Type: openapi.Types{openapi.String, openapi.Number, openapi.Boolean}}
	case "AuditValue": // anything
		s := openapi.Of(openapi.String)
		s.Type = append(s.Type, openapi.Number, openapi.Boolean, openapi.Array, openapi.Object)
		s.Items = &openapi.Schema{}
		return s
	case "Map":
		s := openapi.Of(openapi.Object)
		s.AdditionalProperties = new(true)
		return s
	default:
		return &openapi.Schema{}
	}
}

// events describes a stream: the schema of the text as a whole can say little,
// so that each event's is beside it.
func (d *describer) events(o *operation) *openapi.MediaType {
	s := o.shape.at("event")
	item := &openapi.Schema{Description: "One event: its name, and its data read as JSON."}
	var text strings.Builder
	for _, kind := range d.schema.GetPossibleTypes(s.of) {
		name, data := streamed{kind: kind.Name}.name(), kind.Name
		switch kind.Name {
		case "ChatStart":
			continue // told by the header
		case "StreamError", "AgentError":
			name, data = "error", "Error"
		default:
			d.component(data, func() *openapi.Schema { return d.object(s, kind.Name) })
		}
		event := openapi.Of(openapi.Object)
		event.Properties.Set("event", &openapi.Schema{Const: name})
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
	schema.Description = "Server-sent events. The data of each is one JSON value; comment lines keep a quiet stream open. The last event tells that it is complete, or is error."
	return &openapi.MediaType{Schema: schema, ItemSchema: openapi.Refer(name), Example: text.String()}
}
