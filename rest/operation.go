package rest

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/magpie-search/magpie/internal/request/storedop"
)

//go:embed ops/*.graphql
var stored embed.FS

// operation is a stored operation.
type operation struct {
	name   string
	source string // the file with the shared fragments
	stream bool   // a subscription
	// opensSession is true if the result has the tokens of a session.
	opensSession bool
	shape        *shape // the shape of the result
	variables    map[string]*ast.VariableDefinition
}

// loadOperations reads the stored operations and validates them, so that a renamed
// field is an error at startup and not at the first request.
func loadOperations(files fs.FS, schema *ast.Schema) (map[string]*operation, error) {
	if schema == nil {
		return nil, errors.New("no schema")
	}
	names, err := fs.Glob(files, "ops/*.graphql")
	if err != nil {
		return nil, fmt.Errorf("list the stored operations: %w", err)
	}
	fragments, err := storedop.LoadFragments()
	if err != nil {
		return nil, fmt.Errorf("stored operations: %w", err)
	}
	operations := make(map[string]*operation)
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		source := fragments.Complete(string(text))
		document, err := parser.ParseQuery(&ast.Source{Name: name, Input: source})
		if err != nil {
			return nil, fmt.Errorf("stored operations in %s: %w", name, err)
		}
		if errs := validator.ValidateWithRules(schema, document, rules.NewDefaultRules()); len(errs) > 0 {
			return nil, fmt.Errorf("stored operations in %s are not valid for the schema: %w", name, errs)
		}
		for _, o := range document.Operations {
			if o.Name == "" || operations[o.Name] != nil {
				return nil, fmt.Errorf("stored operations in %s: the name %q is empty or not unique", name, o.Name)
			}
			root := schema.Query
			switch o.Operation {
			case ast.Mutation:
				root = schema.Mutation
			case ast.Subscription:
				root = schema.Subscription
			}
			s, err := shapeOf(schema, root, o.SelectionSet)
			if err != nil {
				return nil, fmt.Errorf("stored operation %s: %w", o.Name, err)
			}
			operation := &operation{
				name: o.Name, source: source, stream: o.Operation == ast.Subscription, shape: s,
				opensSession: s.lookup("data."+refreshTokenKey) != nil,
				variables:    make(map[string]*ast.VariableDefinition),
			}
			for _, v := range o.VariableDefinitions {
				operation.variables[v.Variable] = v
			}
			operations[o.Name] = operation
		}
	}
	return operations, nil
}

// typeAt returns the input type at a dotted path from the operation's variables,
// such as "input.filters.tags", or nil.
func (o *operation) typeAt(schema *ast.Schema, path string) *ast.Type {
	name, inner, nested := strings.Cut(path, ".")
	variable := o.variables[name]
	switch {
	case variable == nil:
		return nil
	case !nested:
		return variable.Type
	case variable.Type.Elem != nil:
		return nil
	}
	return fieldType(schema, schema.Types[variable.Type.NamedType], inner)
}

// fieldType returns the type at a dotted path from an input object, or nil.
func fieldType(schema *ast.Schema, from *ast.Definition, path string) *ast.Type {
	name, inner, nested := strings.Cut(path, ".")
	field := from.Fields.ForName(name)
	switch {
	case field == nil:
		return nil
	case !nested:
		return field.Type
	case field.Type.Elem != nil:
		return nil
	}
	return fieldType(schema, schema.Types[field.Type.NamedType], inner)
}
