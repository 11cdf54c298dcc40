package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/storedop"
)

// realSchema returns the schema of the project.
func realSchema(t testing.TB) *ast.Schema {
	t.Helper()
	schema, err := readSchema()
	if err != nil {
		t.Fatalf("load the schema: %v", err)
	}
	return schema
}

func readSchema() (*ast.Schema, error) {
	names := []string{"../schema.graphql", "../ent/ent.graphql"}
	domains, err := filepath.Glob("../graph/schema/*.graphql")
	if err != nil || len(domains) == 0 {
		return nil, fmt.Errorf("find the schema files: %v %w", domains, err)
	}
	var sources []*ast.Source
	for _, name := range append(names, domains...) {
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		sources = append(sources, &ast.Source{Name: name, Input: string(raw)})
	}
	schema, err := gqlparser.LoadSchema(sources...)
	if err != nil {
		return nil, err
	}
	return schema, nil
}

// object is a row of the fixture by GraphQL names.
type object = map[string]any

// call is a root field with its arguments.
type call struct {
	field     string
	arguments map[string]any
}

// fake is an executable schema with the real schema. resolve returns rows. Rows and
// arguments are checked against the schema, so that no field is missing and no type
// is wrong.
type fake struct {
	schema  *ast.Schema
	resolve func(ctx context.Context, c call) (any, error)
}

func (f *fake) Schema() *ast.Schema { return f.schema }

func (f *fake) Complexity(context.Context, string, string, int, map[string]any) (int, bool) {
	return 0, false
}

func (f *fake) Exec(ctx context.Context) graphql.ResponseHandler {
	operation := graphql.GetOperationContext(ctx)
	if !storedop.Is(ctx) {
		return graphql.OneShot(graphql.ErrorResponse(ctx, "the operation is not marked as stored"))
	}
	if operation.Operation.Operation != ast.Subscription {
		done := false
		return func(ctx context.Context) *graphql.Response {
			if done {
				return nil
			}
			done = true
			return &graphql.Response{Data: f.object(ctx, operation, "", operation.Operation.SelectionSet, nil)}
		}
	}
	field := operation.Operation.SelectionSet[0].(*ast.Field)
	value, err := f.resolve(ctx, f.call(operation, field))
	if err != nil {
		graphql.AddError(ctx, err)
		return func(context.Context) *graphql.Response { return nil }
	}
	events := value.(<-chan any)
	var reused []byte
	return func(ctx context.Context) *graphql.Response {
		select {
		case e, ok := <-events:
			if !ok {
				return nil
			}
			if err, failed := e.(error); failed {
				graphql.AddError(ctx, err)
				return &graphql.Response{Data: json.RawMessage("null")}
			}
			// Generated code also reuses its buffer for all events.
			reused = append(reused[:0], `{"`+field.Alias+`":`...)
			reused = append(reused, f.value(ctx, operation, field.Definition.Type, field.SelectionSet, e)...)
			reused = append(reused, '}')
			return &graphql.Response{Data: reused}
		case <-ctx.Done():
			return nil
		}
	}
}

func (f *fake) call(operation *graphql.OperationContext, field *ast.Field) call {
	arguments := field.ArgumentMap(operation.Variables)
	for name, value := range arguments {
		if err := f.checkType(field.Definition.Arguments.ForName(name).Type, value); err != nil {
			panic(fmt.Sprintf("%s(%s): %v", field.Name, name, err))
		}
	}
	return call{field.Name, arguments}
}

// checkType checks a value like the scalars of the generated code.
func (f *fake) checkType(t *ast.Type, value any) error {
	if value == nil {
		if t.NonNull {
			return errors.New("null")
		}
		return nil
	}
	if t.Elem != nil {
		list, ok := value.([]any)
		if !ok {
			return fmt.Errorf("%T is not a list", value)
		}
		for _, item := range list {
			if err := f.checkType(t.Elem, item); err != nil {
				return err
			}
		}
		return nil
	}
	definition := f.schema.Types[t.NamedType]
	var ok bool
	switch {
	case definition.Kind == ast.InputObject:
		var fields map[string]any
		if fields, ok = value.(map[string]any); ok {
			for name, inner := range fields {
				if err := f.checkType(definition.Fields.ForName(name).Type, inner); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	case definition.Kind == ast.Enum:
		var s string
		s, ok = value.(string)
		ok = ok && definition.EnumValues.ForName(s) != nil
	case t.NamedType == "ID":
		var s string
		if s, ok = value.(string); ok {
			id, err := uuid.Parse(s)
			ok = err == nil && id.String() == s
		}
	case t.NamedType == "Int":
		_, ok = value.(int64)
	case t.NamedType == "Float":
		_, ok = value.(float64)
	case t.NamedType == "Boolean":
		_, ok = value.(bool)
	case t.NamedType == "Map":
		_, ok = value.(map[string]any)
	case t.NamedType == "Upload":
		_, ok = value.(graphql.Upload)
	default:
		_, ok = value.(string)
	}
	if !ok {
		return fmt.Errorf("%T is not a %s", value, t.NamedType)
	}
	return nil
}

// object returns the selected fields of a row. The nil row is the root, whose fields
// are resolved.
func (f *fake) object(ctx context.Context, operation *graphql.OperationContext, kind string, selection ast.SelectionSet, row object) []byte {
	out := []byte{'{'}
	names := []string{kind}
	if concrete, ok := row["__typename"].(string); ok {
		names = append(names, concrete)
	}
	for i, field := range graphql.CollectFields(operation, selection, names) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), field.Alias...), `":`...)
		value, ok := row[field.Name]
		if row == nil {
			var err error
			if value, err = f.resolve(ctx, f.call(operation, field.Field)); err != nil {
				graphql.AddError(ctx, gqlerror.WrapPath(ast.Path{ast.PathName(field.Alias)}, err))
				out = append(out, "null"...)
				continue
			}
		} else if !ok {
			panic("the fixture has no " + field.Name)
		}
		if field.Name == "__typename" {
			out = append(out, quoted(value)...)
			continue
		}
		out = append(out, f.value(ctx, operation, field.Definition.Type, field.Selections, value)...)
	}
	return append(out, '}')
}

func (f *fake) value(ctx context.Context, operation *graphql.OperationContext, t *ast.Type, selection ast.SelectionSet, value any) []byte {
	if value == nil {
		if t.NonNull {
			panic("the fixture has null for " + t.String())
		}
		return []byte("null")
	}
	if t.Elem != nil {
		out := []byte{'['}
		for i, item := range value.([]any) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, f.value(ctx, operation, t.Elem, selection, item)...)
		}
		return append(out, ']')
	}
	definition := f.schema.Types[t.NamedType]
	switch definition.Kind {
	case ast.Object, ast.Union, ast.Interface:
		return f.object(ctx, operation, definition.Name, selection, value.(object))
	case ast.Enum:
		if definition.EnumValues.ForName(value.(string)) == nil {
			panic(fmt.Sprintf("%v is no %s", value, t))
		}
	}
	return quoted(value)
}

func quoted(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return raw
}

// newServer returns a GraphQL server of the fake with the errors of package graph.
func newServer(f *fake) *handler.Server {
	server := handler.New(f)
	server.SetErrorPresenter(func(ctx context.Context, err error) *gqlerror.Error {
		shown := graphql.DefaultErrorPresenter(ctx, err)
		if _, protocol := shown.Extensions["code"]; protocol || shown.Rule != "" {
			return shown
		}
		e := apierr.From(err)
		shown.Message, shown.Extensions = e.Message, map[string]any{"code": string(e.Code)}
		return shown
	})
	return server
}

// page returns a connection of rows.
func page(end string, rows ...object) object {
	edges := make([]any, 0, len(rows))
	for _, row := range rows {
		edges = append(edges, object{"node": row, "cursor": "c"})
	}
	info := object{"hasNextPage": end != "", "endCursor": nil}
	if end != "" {
		info["endCursor"] = end
	}
	return object{"edges": edges, "pageInfo": info, "totalCount": len(rows)}
}
