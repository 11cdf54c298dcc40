package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// shapeKind is the conversion of a part of a result.
type shapeKind uint8

const (
	scalarKind shapeKind = iota // a scalar, unchanged
	enumKind                    // an enum, converted to lower case
	object                      // converted field by field
	connection                  // a Relay connection, converted to the array of its nodes
)

// inlineAlias is the alias of an object whose fields belong to the parent object.
const inlineAlias = "_"

// hiddenPrefix is the alias prefix of fields that the transport uses and that are
// not part of the response.
const hiddenPrefix = "hidden_"

// shape describes the result of a selection. It is computed once from the operation
// and the schema.
type shape struct {
	kind     shapeKind
	of       *ast.Definition // the type
	verbatim bool            // the JSON is copied unchanged
	sparse   int             // number of fields at the end that are omitted when null or empty
	copied   bool            // the fields before those are copied unchanged
	list     bool            // a list of the type
	hidden   bool            // has hidden fields
	abstract bool            // a union or interface, whose fields depend on __typename
	members  []member
}

// member is a field of an object.
type member struct {
	key   string
	field *ast.FieldDefinition // of the schema
	shape *shape
	on    []string // the types that have the field; nil means all
}

func (m *member) sparse() bool { return m.field.Directives.ForName(sparseDirective) != nil }

// isEmpty reports whether a value is null or an empty list.
func isEmpty(raw json.RawMessage) bool { return isNull(raw) || string(raw) == "[]" }

// shapeOf returns the shape of a selection on a type.
func shapeOf(schema *ast.Schema, on *ast.Definition, selection ast.SelectionSet) (*shape, error) {
	s := &shape{kind: object, of: on, abstract: on.IsAbstractType()}
	if err := s.collect(schema, selection, nil); err != nil {
		return nil, err
	}
	for i := len(s.members) - 1; i >= 0 && s.members[i].sparse(); i-- {
		s.sparse++
	}
	copied := func(members []member) bool {
		return !s.abstract && !s.hidden && !slices.ContainsFunc(members, func(m member) bool { return !m.shape.verbatim || m.key == inlineAlias })
	}
	s.copied = copied(s.members[:len(s.members)-s.sparse])
	s.verbatim = s.copied && copied(s.members)
	return s, nil
}

// sparseDirective marks fields that are omitted when null or empty.
const sparseDirective = "sparse"

// withoutEmpty returns an object without the closing brace and without its last fields,
// if all of these are sparse and empty. It reports false where they are not.
func (s *shape) withoutEmpty(raw json.RawMessage) (kept []byte, ok bool) {
	if s.sparse == 0 || s.list || !s.copied {
		return nil, false
	}
	if kept, ok = bytes.CutSuffix(raw, []byte{'}'}); !ok {
		return nil, false
	}
	for _, m := range slices.Backward(s.members[len(s.members)-s.sparse:]) {
		empty := "null"
		if m.shape.list && m.field.Type.NonNull {
			empty = "[]"
		}
		if kept, ok = bytes.CutSuffix(kept, []byte(`,"`+m.key+`":`+empty)); !ok {
			return nil, false
		}
	}
	return kept, true
}

func (s *shape) collect(schema *ast.Schema, selection ast.SelectionSet, on []string) error {
	for _, part := range selection {
		switch part := part.(type) {
		case *ast.Field:
			if part.Name == "__typename" {
				continue
			}
			if strings.HasPrefix(part.Alias, hiddenPrefix) {
				s.hidden = true
				continue
			}
			if slices.ContainsFunc(s.members, func(m member) bool {
				return m.key == part.Alias && (on == nil || m.on == nil || slices.Equal(m.on, on))
			}) {
				return fmt.Errorf("%s is selected twice", part.Alias)
			}
			child, err := shapeOfField(schema, part)
			if err != nil {
				return err
			}
			s.members = append(s.members, member{key: part.Alias, field: part.Definition, shape: child, on: on})
		case *ast.InlineFragment:
			if err := s.collect(schema, part.SelectionSet, fragmentTypes(schema, on, part.TypeCondition, s.abstract)); err != nil {
				return err
			}
		case *ast.FragmentSpread:
			if err := s.collect(schema, part.Definition.SelectionSet, fragmentTypes(schema, on, part.Definition.TypeCondition, s.abstract)); err != nil {
				return err
			}
		}
	}
	return nil
}

// fragmentTypes returns the concrete types of a fragment on an abstract type.
func fragmentTypes(schema *ast.Schema, on []string, condition string, abstract bool) []string {
	if !abstract || condition == "" {
		return on
	}
	var names []string
	for _, d := range schema.GetPossibleTypes(schema.Types[condition]) {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	return names
}

func shapeOfField(schema *ast.Schema, f *ast.Field) (*shape, error) {
	t := f.Definition.Type
	list, nested := false, false
	for t.Elem != nil {
		t, list, nested = t.Elem, true, list
	}
	definition := schema.Types[t.NamedType]
	if nested && definition.Kind != ast.Scalar {
		return nil, fmt.Errorf("%s is a list of lists", f.Alias)
	}
	switch definition.Kind {
	case ast.Enum:
		return &shape{kind: enumKind, of: definition, list: list}, nil
	case ast.Object, ast.Interface, ast.Union:
		s, err := shapeOf(schema, definition, f.SelectionSet)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(definition.Name, "Connection") && definition.Fields.ForName("edges") != nil {
			if s.lookup("edges.node") == nil || s.lookup("pageInfo.hasNextPage") == nil || s.lookup("pageInfo.endCursor") == nil {
				return nil, fmt.Errorf("%s needs edges.node and pageInfo's hasNextPage and endCursor", f.Alias)
			}
			s.kind, s.verbatim = connection, false
		}
		s.list = list
		return s, nil
	default:
		return &shape{kind: scalarKind, of: definition, verbatim: true, list: list}, nil
	}
}

// lookup returns the shape at a dotted path of keys, or nil.
func (s *shape) lookup(path string) *shape {
	for key := range strings.SplitSeq(path, ".") {
		i := slices.IndexFunc(s.members, func(m member) bool { return m.key == key })
		if i < 0 {
			return nil
		}
		s = s.members[i].shape
	}
	return s
}

// write appends the converted JSON of a result of this shape.
func (s *shape) write(to []byte, raw json.RawMessage) ([]byte, error) {
	if kept, ok := s.withoutEmpty(raw); ok {
		return append(append(to, kept...), '}'), nil
	}
	if s.verbatim || isNull(raw) {
		if s.sparse > 0 && !s.list && !isNull(raw) {
			return s.writeOne(to, raw)
		}
		if len(raw) == 0 {
			return append(to, "null"...), nil
		}
		return append(to, raw...), nil
	}
	if !s.list {
		return s.writeOne(to, raw)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, fmt.Errorf("convert list: %w", err)
	}
	to = append(to, '[')
	for i, item := range items {
		if i > 0 {
			to = append(to, ',')
		}
		if isNull(item) {
			to = append(to, "null"...)
			continue
		}
		var err error
		if to, err = s.writeOne(to, item); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}

func (s *shape) writeOne(to []byte, raw json.RawMessage) ([]byte, error) {
	switch s.kind {
	case enumKind:
		return append(to, bytes.ToLower(raw)...), nil
	case connection:
		return s.writeConnection(to, raw)
	case object:
		var fields jsonObject
		if err := json.Unmarshal(raw, &fields); err != nil {
			return nil, fmt.Errorf("convert object: %w", err)
		}
		to, _, err := s.writeMembers(append(to, '{'), fields, true)
		return append(to, '}'), err
	default:
		return append(to, raw...), nil
	}
}

// writeMembers appends the fields of an object and of its inline objects. With
// first, no comma precedes the next field.
func (s *shape) writeMembers(to []byte, fields jsonObject, first bool) ([]byte, bool, error) {
	name := fields.typename()
	for _, m := range s.members {
		if m.on != nil && !slices.Contains(m.on, name) {
			continue
		}
		if m.sparse() && isEmpty(fields[m.key]) {
			continue
		}
		var err error
		if m.key == inlineAlias {
			var inner jsonObject
			if value := fields[m.key]; !isNull(value) {
				if err := json.Unmarshal(value, &inner); err != nil {
					return nil, false, fmt.Errorf("convert inline object: %w", err)
				}
			}
			to, first, err = m.shape.writeMembers(to, inner, first)
		} else {
			if !first {
				to = append(to, ',')
			}
			first = false
			to = append(append(append(to, '"'), m.key...), `":`...)
			to, err = m.shape.write(to, fields[m.key])
		}
		if err != nil {
			return nil, false, err
		}
	}
	return to, first, nil
}

func (s *shape) writeConnection(to []byte, raw json.RawMessage) ([]byte, error) {
	var page struct {
		Edges []struct{ Node json.RawMessage }
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, fmt.Errorf("convert connection: %w", err)
	}
	node := s.lookup("edges.node")
	to = append(to, '[')
	for i, edge := range page.Edges {
		if i > 0 {
			to = append(to, ',')
		}
		var err error
		if to, err = node.write(to, edge.Node); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}

// jsonObject is an object of a result whose values are not decoded.
type jsonObject map[string]json.RawMessage

// typename returns the value of __typename, or "" if it was not selected.
func (o jsonObject) typename() string { return strings.Trim(string(o["__typename"]), `"`) }

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
