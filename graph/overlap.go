package graph

import (
	"fmt"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/core"
)

// overlapRule is the rule of the specification that fields with one response
// name can be merged (spec.graphql.org, "Field Selection Merging"). The
// library's compares every field with every other one, which takes seconds for
// a few thousand; this one compares each with the first of its name, which says
// the same, since what is compared is an equivalence.
const overlapRule = "OverlappingFieldsCanBeMerged"

// overlapSteps bounds what the rule does to a document: many times what the
// largest ones need that are not made for it.
const overlapSteps = 200_000

func fieldsMerge(observers *validator.Events, add validator.AddErrFunc) {
	observers.OnOperation(func(w *validator.Walker, operation *ast.OperationDefinition) {
		o := merging{types: w.Schema.Types, left: overlapSteps}
		o.all(o.collected([]ast.SelectionSet{operation.SelectionSet}))
		switch {
		case o.left < 0:
			add(core.Message("The operation asks for the same fields too often."), core.At(operation.Position))
		case o.at != nil:
			add(core.Message("Fields %q conflict because %s. Use different aliases on the fields to fetch both if this was intentional.", o.at.Alias, o.why), core.At(o.at.Position))
		}
	})
}

// merging looks for the first conflict of an operation.
type merging struct {
	types map[string]*ast.Definition
	left  int // steps
	at    *ast.Field
	why   string
}

func (o *merging) done() bool { return o.at != nil || o.left < 0 }

func (o *merging) conflict(at *ast.Field, why string) {
	if o.at == nil {
		o.at, o.why = at, why
	}
}

// collected lists the fields of selections that are merged with each other, by
// response name, in order. A fragment counts once.
func (o *merging) collected(sets []ast.SelectionSet) (groups [][]*ast.Field) {
	place := map[string]int{}
	fragments := map[string]bool{}
	var add func(ast.SelectionSet)
	add = func(set ast.SelectionSet) {
		for _, s := range set {
			if o.left--; o.left < 0 {
				return
			}
			switch s := s.(type) {
			case *ast.Field:
				i, ok := place[s.Alias]
				if !ok {
					i = len(groups)
					place[s.Alias], groups = i, append(groups, nil)
				}
				groups[i] = append(groups[i], s)
			case *ast.InlineFragment:
				add(s.SelectionSet)
			case *ast.FragmentSpread:
				if s.Definition != nil && !fragments[s.Name] {
					fragments[s.Name] = true
					add(s.Definition.SelectionSet)
				}
			}
		}
	}
	for _, set := range sets {
		add(set)
	}
	return groups
}

func below(fields []*ast.Field) (sets []ast.SelectionSet) {
	for _, f := range fields {
		if len(f.SelectionSet) > 0 {
			sets = append(sets, f.SelectionSet)
		}
	}
	return sets
}

// all checks that the fields of each group give one value.
func (o *merging) all(groups [][]*ast.Field) {
	for _, group := range groups {
		if o.done() {
			return
		}
		o.shape(group)
		parts := o.together(group)
		for _, part := range parts {
			o.same(part)
		}
		if o.done() {
			return
		}
		for _, part := range parts {
			if sets := below(part); len(sets) > 0 {
				o.all(o.collected(sets))
			}
		}
		// What lies below different types need not be the same, but must look so.
		if len(parts) > 1 {
			o.shapes(o.collected(below(group)))
		}
	}
}

// shapes checks that the fields of each group look alike, all the way down.
func (o *merging) shapes(groups [][]*ast.Field) {
	for _, group := range groups {
		if o.done() {
			return
		}
		o.shape(group)
		if sets := below(group); len(sets) > 1 { // within one selection it is the concern of all
			o.shapes(o.collected(sets))
		}
	}
}

// shape checks that fields have types that look alike.
func (o *merging) shape(group []*ast.Field) {
	var first *ast.Field
	for _, f := range group {
		switch {
		case f.Definition == nil: // another rule says so
		case first == nil:
			first = f
		case o.differ(first.Definition.Type, f.Definition.Type):
			o.conflict(f, fmt.Sprintf("they return conflicting types %q and %q", first.Definition.Type, f.Definition.Type))
		}
	}
}

// differ reports whether values of two types look different in an answer.
func (o *merging) differ(a, b *ast.Type) bool {
	for {
		if (a.Elem == nil) != (b.Elem == nil) || a.NonNull != b.NonNull {
			return true
		}
		if a.Elem == nil {
			break
		}
		a, b = a.Elem, b.Elem
	}
	leaf := func(name string) bool { return o.types[name] != nil && o.types[name].IsLeafType() }
	return a.NamedType != b.NamedType && (leaf(a.NamedType) || leaf(b.NamedType))
}

// together parts fields into those that one object may have to answer: those of
// each object type, each with those of all interfaces.
func (o *merging) together(group []*ast.Field) [][]*ast.Field {
	if len(group) == 1 {
		return [][]*ast.Field{group}
	}
	var types []*ast.Definition
	for _, f := range group {
		if t := f.ObjectDefinition; t != nil && t.Kind == ast.Object && !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	if len(types) < 2 {
		return [][]*ast.Field{group}
	}
	parts := make([][]*ast.Field, len(types))
	for i, t := range types {
		for _, f := range group {
			if o.left--; o.left < 0 {
				return nil
			}
			if f.ObjectDefinition == t || f.ObjectDefinition != nil && f.ObjectDefinition.Kind != ast.Object {
				parts[i] = append(parts[i], f)
			}
		}
	}
	return parts
}

// same checks that fields are one field, asked with the same arguments.
func (o *merging) same(part []*ast.Field) {
	if len(part) < 2 {
		return
	}
	first := part[0]
	for _, f := range part[1:] {
		if o.done() {
			return
		}
		switch {
		case first.ObjectDefinition == nil || f.ObjectDefinition == nil: // another rule says so
		case f.Name != first.Name:
			o.conflict(f, fmt.Sprintf("%q and %q are different fields", first.Name, f.Name))
		case !o.sameArguments(first.Arguments, f.Arguments):
			o.conflict(f, "they have differing arguments")
		}
	}
}

func (o *merging) sameArguments(a, b ast.ArgumentList) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		o.left -= len(b)
		if o.left < 0 {
			return true
		}
		y := b.ForName(x.Name)
		if y == nil || !o.sameValue(x.Value, y.Value) {
			return false
		}
	}
	return true
}

func (o *merging) sameValue(a, b *ast.Value) bool {
	if o.left--; o.left < 0 {
		return true
	}
	if a.Kind != b.Kind || a.Raw != b.Raw || len(a.Children) != len(b.Children) {
		return false
	}
	for i, x := range a.Children {
		y := b.Children[i]
		if a.Kind == ast.ObjectValue { // whose fields have no order
			at := slices.IndexFunc(b.Children, func(c *ast.ChildValue) bool { return c.Name == x.Name })
			if o.left -= len(b.Children); at < 0 {
				return false
			}
			y = b.Children[at]
		}
		if !o.sameValue(x.Value, y.Value) {
			return false
		}
	}
	return true
}
