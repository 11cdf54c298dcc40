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

// operation is one stored operation, ready to run.
type operation struct {
	name      string
	source    string // the document: the file with the shared fragments
	stream    bool   // a subscription
	shape     *shape // of the data object
	variables map[string]*ast.VariableDefinition
}

// loadOperations reads every stored operation and checks it against the schema,
// so that a renamed field is an error at start and not at the first request.
func loadOperations(files fs.FS, schema *ast.Schema) (map[string]*operation, error) {
	if schema == nil {
		return nil, errors.New("a schema is needed")
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
		if wrong := validator.ValidateWithRules(schema, document, rules.NewDefaultRules()); len(wrong) > 0 {
			return nil, fmt.Errorf("stored operations in %s do not fit the schema: %w", name, wrong)
		}
		for _, o := range document.Operations {
			if o.Name == "" || operations[o.Name] != nil {
				return nil, fmt.Errorf("stored operations in %s: %q is no name of its own", name, o.Name)
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
			made := &operation{
				name: o.Name, source: source, stream: o.Operation == ast.Subscription, shape: s,
				variables: make(map[string]*ast.VariableDefinition),
			}
			for _, v := range o.VariableDefinitions {
				made.variables[v.Variable] = v
			}
			operations[o.Name] = made
		}
	}
	return operations, nil
}

// typeAt is the input type that a dotted path such as "input.filters.tags"
// reaches from the operation's variables; nil when it leads nowhere.
func (o *operation) typeAt(schema *ast.Schema, path string) *ast.Type {
	name, rest, nested := strings.Cut(path, ".")
	variable := o.variables[name]
	switch {
	case variable == nil:
		return nil
	case !nested:
		return variable.Type
	case variable.Type.Elem != nil:
		return nil
	}
	return fieldType(schema, schema.Types[variable.Type.NamedType], rest)
}

// fieldType is the type that a dotted path reaches from an input object; nil
// when it leads nowhere.
func fieldType(schema *ast.Schema, from *ast.Definition, path string) *ast.Type {
	name, rest, nested := strings.Cut(path, ".")
	field := from.Fields.ForName(name)
	switch {
	case field == nil:
		return nil
	case !nested:
		return field.Type
	case field.Type.Elem != nil:
		return nil
	}
	return fieldType(schema, schema.Types[field.Type.NamedType], rest)
}
