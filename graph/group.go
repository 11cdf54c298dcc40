package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// groupLimit refuses operations of a token that are outside its groups, or not for
// tokens (@group). Every root field is checked and, in an operation of a client, every
// field below that returns objects of a group, so that no link leads out of the groups.
// A stored operation selects only what belongs to its root field.
type groupLimit struct{ schema *ast.Schema }

var _ graphql.OperationContextMutator = groupLimit{}

func (groupLimit) ExtensionName() string                   { return "GroupLimit" }
func (groupLimit) Validate(graphql.ExecutableSchema) error { return nil }

func (l groupLimit) MutateOperationContext(ctx context.Context, rc *graphql.OperationContext) *graphqlError {
	v, ok := viewer.From(ctx)
	if !ok || v.Token == uuid.Nil {
		return nil
	}
	check := groupCheck{schema: l.schema, viewer: v, stored: isStored(ctx)}
	if reason := check.roots(rc.Operation.SelectionSet); reason != "" {
		return &gqlerror.Error{Message: reason, Err: apierr.New(apierr.Forbidden, reason)}
	}
	return nil
}

// groupCheck is the check of one operation.
type groupCheck struct {
	schema *ast.Schema
	viewer viewer.Viewer
	stored bool
}

// groupOf returns the group of a directive list, and which tokens may use the field. A
// field without @group is in no group.
func groupOf(directives ast.DirectiveList) (group viewer.Group, tokens model.TokenUse) {
	d := directives.ForName("group")
	if d == nil {
		return "", model.TokenUseNone
	}
	tokens = model.TokenUseAny
	if a := d.Arguments.ForName("tokens"); a != nil {
		tokens = model.TokenUse(a.Value.Raw)
	}
	return viewer.Group(d.Arguments.ForName("name").Value.Raw), tokens
}

// roots returns why the viewer may not run an operation, "" if it may.
func (c groupCheck) roots(set ast.SelectionSet) string {
	return eachField(set, func(f *ast.Field) string {
		if f.Name == "__typename" || f.Name == "__schema" || f.Name == "__type" {
			return ""
		}
		group, tokens := groupOf(f.Definition.Directives)
		switch {
		case tokens == model.TokenUseNone:
			return f.Name + " is not for tokens; sign in"
		case tokens == model.TokenUsePersonal && c.viewer.Kind != viewer.KindSession:
			return f.Name + " is for people; a service token cannot use it"
		case !c.viewer.MayUse(group):
			return c.missing(f.Name, group)
		case c.stored:
			return ""
		}
		// The caller may see their own account.
		if f.Definition.Type.Name() == "Me" {
			return ""
		}
		return c.below(f.SelectionSet)
	})
}

// below returns why the viewer may not read a selection, "" if it may.
func (c groupCheck) below(set ast.SelectionSet) string {
	for _, s := range set {
		if inline, ok := s.(*ast.InlineFragment); ok && inline.TypeCondition != "" {
			if reason := c.object(inline.TypeCondition, inline.TypeCondition); reason != "" {
				return reason
			}
		}
		if spread, ok := s.(*ast.FragmentSpread); ok && spread.Definition != nil {
			if reason := c.object(spread.Definition.TypeCondition, spread.Definition.TypeCondition); reason != "" {
				return reason
			}
		}
		if f, ok := s.(*ast.Field); ok && f.Definition != nil {
			if reason := c.object(f.Name, f.Definition.Type.Name()); reason != "" {
				return reason
			}
			if reason := c.below(f.SelectionSet); reason != "" {
				return reason
			}
			continue
		}
		if reason := c.below(selectionOf(s)); reason != "" {
			return reason
		}
	}
	return ""
}

// object returns why the viewer may not read objects of a type, or a list of them, ""
// if it may.
func (c groupCheck) object(field, typeName string) string {
	definition := c.schema.Types[typeName]
	if definition == nil {
		return ""
	}
	if edges := definition.Fields.ForName("edges"); edges != nil {
		if node := c.schema.Types[edges.Type.Name()].Fields.ForName("node"); node != nil {
			return c.object(field, node.Type.Name())
		}
	}
	if group, _ := groupOf(definition.Directives); group != "" && !c.viewer.MayUse(group) {
		return c.missing(field, group)
	}
	return ""
}

func (groupCheck) missing(field string, group viewer.Group) string {
	return "The token may not use " + field + "; it needs the group " + string(group)
}

// eachField calls check for the fields of a selection with its fragments, until one has
// a reason.
func eachField(set ast.SelectionSet, check func(*ast.Field) string) string {
	for _, s := range set {
		reason := ""
		if f, ok := s.(*ast.Field); ok {
			reason = check(f)
		} else {
			reason = eachField(selectionOf(s), check)
		}
		if reason != "" {
			return reason
		}
	}
	return ""
}

// selectionOf returns the selection of a fragment.
func selectionOf(s ast.Selection) ast.SelectionSet {
	switch s := s.(type) {
	case *ast.InlineFragment:
		return s.SelectionSet
	case *ast.FragmentSpread:
		if s.Definition != nil {
			return s.Definition.SelectionSet
		}
	}
	return nil
}
