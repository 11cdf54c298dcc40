package graph

import (
	"fmt"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/core"
)

// overlapRule is the rule of the specification that fields with the same response name
// can be merged (spec.graphql.org, "Field Selection Merging"). The library compares each
// pair of fields, which takes seconds for a few thousand fields. This implementation
// compares each field with the first one of its name. The result is the same, because
// the comparison is an equivalence relation.
const overlapRule = "OverlappingFieldsCanBeMerged"

// overlapSteps is the largest number of steps of the rule for an operation. Ordinary
// operations need far fewer.
const overlapSteps = 200_000

// checkOverlap is the implementation of overlapRule.
func checkOverlap(observers *validator.Events, add validator.AddErrFunc) {
	observers.OnOperation(func(w *validator.Walker, operation *ast.OperationDefinition) {
		o := overlapCheck{types: w.Schema.Types, steps: overlapSteps}
		o.checkFields(o.collect([]ast.SelectionSet{operation.SelectionSet}))
		switch {
		case o.steps < 0:
			add(core.Message("The operation asks for the same fields too often."), core.At(operation.Position))
		case o.conflict != nil:
			add(core.Message("Fields %q conflict because %s. Use different aliases on the fields to fetch both if this was intentional.", o.conflict.Alias, o.reason), core.At(o.conflict.Position))
		}
	})
}

// An overlapCheck finds the first conflict of an operation.
type overlapCheck struct {
	types    map[string]*ast.Definition
	steps    int        // remaining steps; negative when they are used up
	conflict *ast.Field // nil if no conflict was found
	reason   string
}

func (o *overlapCheck) done() bool { return o.conflict != nil || o.steps < 0 }

func (o *overlapCheck) setConflict(field *ast.Field, reason string) {
	if o.conflict == nil {
		o.conflict, o.reason = field, reason
	}
}

// collect groups the fields of selections by response name, in order. It expands each
// fragment once.
func (o *overlapCheck) collect(sets []ast.SelectionSet) (groups [][]*ast.Field) {
	place := map[string]int{}
	fragments := map[string]bool{}
	var add func(ast.SelectionSet)
	add = func(set ast.SelectionSet) {
		for _, s := range set {
			if o.steps--; o.steps < 0 {
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

// subselections returns the selections of fields that have one.
func subselections(fields []*ast.Field) (sets []ast.SelectionSet) {
	for _, f := range fields {
		if len(f.SelectionSet) > 0 {
			sets = append(sets, f.SelectionSet)
		}
	}
	return sets
}

// checkFields checks that the fields of each group can be merged into one.
func (o *overlapCheck) checkFields(groups [][]*ast.Field) {
	for _, group := range groups {
		if o.done() {
			return
		}
		o.checkShape(group)
		parts := o.partition(group)
		for _, part := range parts {
			o.checkSame(part)
		}
		if o.done() {
			return
		}
		for _, part := range parts {
			if sets := subselections(part); len(sets) > 0 {
				o.checkFields(o.collect(sets))
			}
		}
		// Fields of different object types may differ, but their values must have the same shape.
		if len(parts) > 1 {
			o.checkShapes(o.collect(subselections(group)))
		}
	}
}

// checkShapes checks that the values of the fields of each group have the same shape, at
// all levels.
func (o *overlapCheck) checkShapes(groups [][]*ast.Field) {
	for _, group := range groups {
		if o.done() {
			return
		}
		o.checkShape(group)
		if sets := subselections(group); len(sets) > 1 { // checkFields checks the fields of a single selection
			o.checkShapes(o.collect(sets))
		}
	}
}

// checkShape checks that the types of fields have the same shape.
func (o *overlapCheck) checkShape(group []*ast.Field) {
	var first *ast.Field
	for _, f := range group {
		switch {
		case f.Definition == nil: // another rule reports it
		case first == nil:
			first = f
		case o.shapesDiffer(first.Definition.Type, f.Definition.Type):
			o.setConflict(f, fmt.Sprintf("they return conflicting types %q and %q", first.Definition.Type, f.Definition.Type))
		}
	}
}

// shapesDiffer reports whether values of two types have different shapes in a response.
func (o *overlapCheck) shapesDiffer(a, b *ast.Type) bool {
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

// partition splits fields into groups that can apply to one object: the fields of each
// object type together with those of all interfaces.
func (o *overlapCheck) partition(group []*ast.Field) [][]*ast.Field {
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
			if o.steps--; o.steps < 0 {
				return nil
			}
			if f.ObjectDefinition == t || f.ObjectDefinition != nil && f.ObjectDefinition.Kind != ast.Object {
				parts[i] = append(parts[i], f)
			}
		}
	}
	return parts
}

// checkSame checks that fields have the same name and arguments.
func (o *overlapCheck) checkSame(part []*ast.Field) {
	if len(part) < 2 {
		return
	}
	first := part[0]
	for _, f := range part[1:] {
		if o.done() {
			return
		}
		switch {
		case first.ObjectDefinition == nil || f.ObjectDefinition == nil: // another rule reports it
		case f.Name != first.Name:
			o.setConflict(f, fmt.Sprintf("%q and %q are different fields", first.Name, f.Name))
		case !o.sameArguments(first.Arguments, f.Arguments):
			o.setConflict(f, "they have differing arguments")
		}
	}
}

func (o *overlapCheck) sameArguments(a, b ast.ArgumentList) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		o.steps -= len(b)
		if o.steps < 0 {
			return true
		}
		y := b.ForName(x.Name)
		if y == nil || !o.sameValue(x.Value, y.Value) {
			return false
		}
	}
	return true
}

func (o *overlapCheck) sameValue(a, b *ast.Value) bool {
	if o.steps--; o.steps < 0 {
		return true
	}
	if a.Kind != b.Kind || a.Raw != b.Raw || len(a.Children) != len(b.Children) {
		return false
	}
	for i, x := range a.Children {
		y := b.Children[i]
		if a.Kind == ast.ObjectValue { // the order of fields does not matter
			at := slices.IndexFunc(b.Children, func(c *ast.ChildValue) bool { return c.Name == x.Name })
			if o.steps -= len(b.Children); at < 0 {
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
