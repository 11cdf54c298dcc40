package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/internal/viewer"
)

// introspection allows introspection for signed-in people only.
type introspection struct{}

var _ graphql.OperationContextMutator = introspection{}

func (introspection) ExtensionName() string                   { return "Introspection" }
func (introspection) Validate(graphql.ExecutableSchema) error { return nil }

func (introspection) MutateOperationContext(ctx context.Context, rc *graphql.OperationContext) *graphqlError {
	v, ok := viewer.From(ctx)
	rc.DisableIntrospection = !ok || !v.HasRole() && v.Kind != viewer.KindSystem
	return nil
}

// maxIntrospection is the largest estimated number of values for each type of the schema
// that an introspection may return. It is about three times as many as the introspection
// queries of common clients need.
const maxIntrospection = 300

// introspectionLimit refuses operations that read the description of the schema many
// times. The complexity limit does not: it counts the list of all types as one field.
type introspectionLimit struct {
	types float64
	rows  map[string]float64 // average length of each list field of the description
}

var _ graphql.OperationContextMutator = introspectionLimit{}

func (introspectionLimit) ExtensionName() string                   { return "IntrospectionLimit" }
func (introspectionLimit) Validate(graphql.ExecutableSchema) error { return nil }

func newIntrospectionLimit(schema *ast.Schema) introspectionLimit {
	var fields, arguments, inputs, values, possible float64
	for _, t := range schema.Types {
		switch t.Kind {
		case ast.InputObject:
			inputs += float64(len(t.Fields))
		case ast.Enum:
			values += float64(len(t.EnumValues))
		default:
			fields += float64(len(t.Fields))
			for _, f := range t.Fields {
				arguments += float64(len(f.Arguments))
			}
			if t.IsAbstractType() {
				possible += float64(len(schema.GetPossibleTypes(t)))
			}
		}
	}
	n := max(1, float64(len(schema.Types)))
	return introspectionLimit{types: n, rows: map[string]float64{
		"types": n, "fields": fields / n, "args": arguments / max(1, fields), "inputFields": inputs / n, "enumValues": values / n,
		"possibleTypes": possible / n, "directives": float64(len(schema.Directives)),
		"ofType": 0.5, // most types have none
	}}
}

func (l introspectionLimit) MutateOperationContext(ctx context.Context, rc *graphql.OperationContext) *graphqlError {
	if isStored(ctx) || rc.DisableIntrospection || l.estimate(rc.Operation.SelectionSet, true) <= maxIntrospection*l.types {
		return nil
	}
	return refusal("the operation asks for too much of the schema at once")
}

// estimate returns about how many values a selection has in the response. In a root
// selection it counts introspection fields only.
func (l introspectionLimit) estimate(set ast.SelectionSet, root bool) (sum float64) {
	for _, s := range set {
		switch s := s.(type) {
		case *ast.Field:
			if root && s.Name != "__schema" && s.Name != "__type" {
				continue
			}
			each, list := l.rows[s.Name]
			if !list {
				each = 1
			}
			sum += 1 + each*l.estimate(s.SelectionSet, false)
		case *ast.InlineFragment:
			sum += l.estimate(s.SelectionSet, root)
		case *ast.FragmentSpread:
			if s.Definition != nil {
				sum += l.estimate(s.Definition.SelectionSet, root)
			}
		}
	}
	return sum
}
