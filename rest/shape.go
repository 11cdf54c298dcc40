package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// shapeKind says what has to happen to a part of an answer on its way out.
type shapeKind uint8

const (
	asIs       shapeKind = iota // a scalar
	lowered                     // an enum: lower case on the wire
	object                      // field by field
	connection                  // a Relay connection: the array of its nodes
)

// lift is the alias of an object whose fields belong to the object around it.
const lift = "_"

// unseen begins the aliases of fields that the transport reads itself and that no
// answer has.
const unseen = "unseen_"

// shape is what a selection's answer looks like, worked out once from the
// operation and the schema.
type shape struct {
	kind    shapeKind
	of      *ast.Definition // the type of what it describes
	plain   bool            // nothing below has to change: the bytes are copied
	sparse  bool            // the last field is a list that is left out while it is empty
	list    bool            // of what the rest describes
	partial bool            // there are fields that no answer has
	typed   bool            // a union or interface: which fields there are depends on __typename
	members []member
}

// member is one field of an object.
type member struct {
	key   string
	field *ast.FieldDefinition // in the schema
	shape *shape
	on    []string // the type names it belongs to; nil for every one
}

// shapeOf works out the shape of a selection on a type.
func shapeOf(schema *ast.Schema, on *ast.Definition, selection ast.SelectionSet) (*shape, error) {
	s := &shape{kind: object, of: on, typed: on.IsAbstractType()}
	if err := s.collect(schema, selection, nil); err != nil {
		return nil, err
	}
	s.plain = !s.typed && !s.partial && !slices.ContainsFunc(s.members, func(m member) bool { return !m.shape.plain || m.key == lift })
	for i, m := range s.members {
		if m.field.Directives.ForName(sparseDirective) == nil {
			continue
		}
		if i+1 < len(s.members) || !s.plain {
			return nil, fmt.Errorf("%s may be left out: it has to be the last field of an object that is copied", m.key)
		}
		s.sparse = true
	}
	return s, nil
}

// sparseDirective marks lists that are left out while they are empty.
const sparseDirective = "sparse"

// withoutEmpty is the object without its sparse list, if that is empty, up to its
// closing brace; ok says that it is.
func (s *shape) withoutEmpty(raw json.RawMessage) (rest []byte, ok bool) {
	if !s.sparse {
		return nil, false
	}
	return bytes.CutSuffix(raw, []byte(`,"`+s.members[len(s.members)-1].key+`":[]}`))
}

func (s *shape) collect(schema *ast.Schema, selection ast.SelectionSet, on []string) error {
	for _, part := range selection {
		switch part := part.(type) {
		case *ast.Field:
			if part.Name == "__typename" {
				continue
			}
			if strings.HasPrefix(part.Alias, unseen) {
				s.partial = true
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
			if err := s.collect(schema, part.SelectionSet, narrowed(schema, on, part.TypeCondition, s.typed)); err != nil {
				return err
			}
		case *ast.FragmentSpread:
			if err := s.collect(schema, part.Definition.SelectionSet, narrowed(schema, on, part.Definition.TypeCondition, s.typed)); err != nil {
				return err
			}
		}
	}
	return nil
}

// narrowed lists the concrete types of a fragment; on an object's own type a
// fragment holds always.
func narrowed(schema *ast.Schema, on []string, condition string, typed bool) []string {
	if !typed || condition == "" {
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
	list := false
	for t.Elem != nil {
		if list {
			return nil, fmt.Errorf("%s is a list of lists", f.Alias)
		}
		t, list = t.Elem, true
	}
	definition := schema.Types[t.NamedType]
	switch definition.Kind {
	case ast.Enum:
		return &shape{kind: lowered, of: definition, list: list}, nil
	case ast.Object, ast.Interface, ast.Union:
		s, err := shapeOf(schema, definition, f.SelectionSet)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(definition.Name, "Connection") {
			if s.at("edges.node") == nil || s.at("pageInfo.hasNextPage") == nil || s.at("pageInfo.endCursor") == nil {
				return nil, fmt.Errorf("%s needs edges.node and pageInfo's hasNextPage and endCursor", f.Alias)
			}
			s.kind, s.plain = connection, false
		}
		s.list = list
		return s, nil
	default:
		return &shape{kind: asIs, of: definition, plain: true, list: list}, nil
	}
}

// at is the shape under a dotted path of keys; nil when there is none.
func (s *shape) at(path string) *shape {
	for key := range strings.SplitSeq(path, ".") {
		i := slices.IndexFunc(s.members, func(m member) bool { return m.key == key })
		if i < 0 {
			return nil
		}
		s = s.members[i].shape
	}
	return s
}

// write appends raw, an answer of this shape, as it goes on the wire.
func (s *shape) write(to []byte, raw json.RawMessage) ([]byte, error) {
	if s.plain || isNull(raw) {
		if len(raw) == 0 {
			return append(to, "null"...), nil
		}
		return append(to, raw...), nil
	}
	if !s.list {
		return s.writeOne(to, raw)
	}
	items, err := parts(raw, 16)
	if err != nil {
		return nil, fmt.Errorf("reshape a list: %w", err)
	}
	to = append(to, '[')
	for i, item := range items {
		if i > 0 {
			to = append(to, ',')
		}
		if isNull(item.value) {
			to = append(to, "null"...)
		} else if to, err = s.writeOne(to, item.value); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}

func (s *shape) writeOne(to []byte, raw json.RawMessage) ([]byte, error) {
	switch s.kind {
	case lowered:
		return append(to, bytes.ToLower(raw)...), nil
	case connection:
		return s.writeConnection(to, raw)
	case object:
		fields, err := parts(raw, len(s.members)+1)
		if err != nil {
			return nil, fmt.Errorf("reshape an object: %w", err)
		}
		to = append(to, '{')
		to, _, err = s.writeMembers(to, fields, typeOf(fields), true)
		return append(to, '}'), err
	default:
		return append(to, raw...), nil
	}
}

// writeMembers appends the fields of one object, those of lifted objects among
// them; first says whether a comma has to come before the next one.
func (s *shape) writeMembers(to []byte, fields []part, name string, first bool) ([]byte, bool, error) {
	for _, m := range s.members {
		if m.on != nil && !slices.Contains(m.on, name) {
			continue
		}
		var err error
		if m.key == lift {
			var inner []part
			if value := valueOf(fields, m.key); !isNull(value) {
				if inner, err = parts(value, len(m.shape.members)+1); err != nil {
					return nil, false, fmt.Errorf("reshape a lifted object: %w", err)
				}
			}
			to, first, err = m.shape.writeMembers(to, inner, typeOf(inner), first)
		} else {
			if !first {
				to = append(to, ',')
			}
			first = false
			to = append(append(append(to, '"'), m.key...), `":`...)
			to, err = m.shape.write(to, valueOf(fields, m.key))
		}
		if err != nil {
			return nil, false, err
		}
	}
	return to, first, nil
}

func (s *shape) writeConnection(to []byte, raw json.RawMessage) ([]byte, error) {
	page, err := parts(raw, len(s.members)+1)
	if err != nil {
		return nil, fmt.Errorf("reshape a connection: %w", err)
	}
	edges, err := parts(valueOf(page, "edges"), 64)
	if err != nil {
		return nil, fmt.Errorf("reshape a connection: %w", err)
	}
	node := s.at("edges.node")
	to = append(to, '[')
	for i, edge := range edges {
		if i > 0 {
			to = append(to, ',')
		}
		fields, err := parts(edge.value, 2)
		if err != nil {
			return nil, fmt.Errorf("reshape a connection: %w", err)
		}
		if to, err = node.write(to, valueOf(fields, "node")); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}

func typeOf(fields []part) string {
	return strings.Trim(string(valueOf(fields, "__typename")), `"`)
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
