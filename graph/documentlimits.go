package graph

import (
	"math"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/magpie-search/magpie/internal/apierr"
)

// documentLimits are upper bounds of a document. They are checked in time linear in its
// bytes, before steps that cost more: the parser recurses for each bracket, and
// validation visits a fragment once for each path to it.
type documentLimits struct {
	bytes       int // of text
	tokens      int // including comments
	nesting     int // of brackets of all kinds
	name        int // bytes of one name
	definitions int // operations and fragments
	nodes       int // of all definitions, with fragments expanded
	depth       int // levels of selections, with fragments expanded
	mutations   int // root fields of a mutation
	queries     int // root fields of a query or subscription
}

// authenticatedLimits are for callers with credentials.
func authenticatedLimits() documentLimits {
	return documentLimits{
		bytes: 1 << 20, tokens: 10_000, nesting: 50, name: 255, definitions: 200, nodes: 25_000, depth: maxSchemaDepth + 1,
		mutations: math.MaxInt, queries: math.MaxInt,
	}
}

// anonymousLimits are for callers without credentials. They allow one mutation, because
// it may hash a password.
func anonymousLimits() documentLimits {
	return documentLimits{
		bytes: 16 << 10, tokens: 1000, nesting: 20, name: 255, definitions: 20, nodes: 2000, depth: maxSchemaDepth + 1,
		mutations: 1, queries: 5,
	}
}

// noLimits are for stored operations, which Magpie itself contains.
func noLimits() documentLimits {
	const n = math.MaxInt
	return documentLimits{bytes: n, tokens: n, nesting: n, name: n, definitions: n, nodes: n, depth: n, mutations: n, queries: n}
}

// A documentSize is what documentLimits limit.
type documentSize documentLimits

// refusal returns the error of a document that exceeds a limit.
func refusal(format string, args ...any) *graphqlError {
	err := gqlerror.Errorf(format, args...)
	err.Extensions = map[string]any{"code": string(apierr.InvalidRequest)}
	return err
}

// scan reads the tokens of a document. It ends at the first limit that is exceeded. At
// text that is not GraphQL it ends without an error, because the parser has a better
// message.
func (l documentLimits) scan(text string) (size documentSize, refused *graphqlError) {
	size.bytes = len(text)
	if refused = l.check(size); refused != nil {
		return size, refused
	}
	tokens := lexer.New(&ast.Source{Input: text})
	brackets := 0
	for {
		token, err := tokens.ReadToken()
		if err != nil || token.Kind == lexer.EOF {
			return size, nil
		}
		size.tokens++
		switch token.Kind {
		case lexer.BraceL, lexer.BracketL, lexer.ParenL:
			brackets++
			size.nesting = max(size.nesting, brackets)
		case lexer.BraceR, lexer.BracketR, lexer.ParenR:
			brackets--
		case lexer.Name:
			size.name = max(size.name, len(token.Value))
		}
		if refused = l.check(size); refused != nil {
			return size, refused
		}
	}
}

// parse parses a document within the limits and returns its size.
func (l documentLimits) parse(text string) (*ast.QueryDocument, documentSize, error) {
	size, refused := l.scan(text)
	if refused != nil {
		return nil, size, refused
	}
	document, err := parser.ParseQuery(&ast.Source{Input: text})
	if err != nil {
		return nil, size, err
	}
	if refused = size.count(document); refused != nil {
		return nil, size, refused
	}
	if refused = l.check(size); refused != nil {
		return nil, size, refused
	}
	return document, size, nil
}

// check returns an error if size exceeds a limit.
func (l documentLimits) check(size documentSize) *graphqlError {
	switch {
	case size.bytes > l.bytes:
		return refusal("the operation is longer than %d bytes", l.bytes)
	case size.tokens > l.tokens:
		return refusal("the operation has more than %d tokens", l.tokens)
	case size.nesting > l.nesting:
		return refusal("the operation is nested more than %d brackets deep", l.nesting)
	case size.name > l.name:
		return refusal("the operation has a name longer than %d bytes", l.name)
	case size.definitions > l.definitions:
		return refusal("the document has more than %d operations and fragments", l.definitions)
	case size.nodes > l.nodes:
		return refusal("the document has more than %d fields, fragments, arguments and values, once its fragments are put in place", l.nodes)
	case size.depth > l.depth:
		return refusal("the operation is nested more than %d levels deep; ask for less at once", l.depth)
	case size.mutations > l.mutations:
		return refusal("sign in to ask for more than %d change at once", l.mutations)
	case size.queries > l.queries:
		return refusal("sign in to ask for more than %d fields at once", l.queries)
	}
	return nil
}

// A selectionSize is the size of a selection with its fragments expanded.
type selectionSize struct{ nodes, depth, roots int }

// addSaturating returns a+b, or math.MaxInt if that overflows.
func addSaturating(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// A sizer computes the sizes of selections. It visits each fragment once.
type sizer struct {
	fragments map[string]*ast.FragmentDefinition
	sizes     map[string]selectionSize // of fragments
	path      map[string]bool          // fragments that contain the current selection
	cycle     *ast.FragmentSpread
}

// count adds the size of a parsed document. It returns an error for fragments that form
// a cycle, so that later steps may assume that there is none.
func (size *documentSize) count(document *ast.QueryDocument) *graphqlError {
	size.definitions = len(document.Operations) + len(document.Fragments)
	c := sizer{
		fragments: make(map[string]*ast.FragmentDefinition, len(document.Fragments)), sizes: map[string]selectionSize{}, path: map[string]bool{},
	}
	for _, f := range document.Fragments {
		if c.fragments[f.Name] == nil { // validation uses the first of two with one name
			c.fragments[f.Name] = f
		}
	}
	for _, operation := range document.Operations {
		e := c.selection(operation.SelectionSet)
		size.nodes = addSaturating(size.nodes, addSaturating(e.nodes, c.directives(operation.Directives)))
		for _, v := range operation.VariableDefinitions {
			size.nodes = addSaturating(size.nodes, 1+c.value(v.DefaultValue)+c.directives(v.Directives))
		}
		size.depth = max(size.depth, e.depth)
		if operation.Operation == ast.Mutation {
			size.mutations = max(size.mutations, e.roots)
		} else {
			size.queries = max(size.queries, e.roots)
		}
	}
	for _, f := range document.Fragments {
		size.nodes = addSaturating(size.nodes, c.fragment(f).nodes)
	}
	if c.cycle != nil {
		refused := refusal("Cannot spread fragment %q within itself.", c.cycle.Name)
		refused.Locations = []gqlerror.Location{{Line: c.cycle.Position.Line, Column: c.cycle.Position.Column}}
		return refused
	}
	return nil
}

func (c *sizer) selection(set ast.SelectionSet) (sum selectionSize) {
	for _, s := range set {
		var below selectionSize
		own := 1
		switch s := s.(type) {
		case *ast.Field:
			below = c.selection(s.SelectionSet)
			below.depth, below.roots = addSaturating(below.depth, 1), 1
			if s.Name == "__typename" {
				below.roots = 0
			}
			own += c.arguments(s.Arguments) + c.directives(s.Directives)
		case *ast.InlineFragment:
			below = c.selection(s.SelectionSet)
			own += c.directives(s.Directives)
		case *ast.FragmentSpread:
			own += c.directives(s.Directives)
			if f := c.fragments[s.Name]; f != nil {
				if c.path[f.Name] {
					c.cycle = s
				} else {
					below = c.fragment(f)
				}
			}
		}
		sum.nodes = addSaturating(sum.nodes, addSaturating(below.nodes, own))
		sum.depth = max(sum.depth, below.depth)
		sum.roots = addSaturating(sum.roots, below.roots)
	}
	return sum
}

func (c *sizer) fragment(f *ast.FragmentDefinition) selectionSize {
	if e, ok := c.sizes[f.Name]; ok {
		return e
	}
	c.path[f.Name] = true
	e := c.selection(f.SelectionSet)
	e.nodes = addSaturating(e.nodes, c.directives(f.Directives))
	delete(c.path, f.Name)
	c.sizes[f.Name] = e
	return e
}

func (c *sizer) directives(list ast.DirectiveList) int {
	n := len(list)
	for _, d := range list {
		n += c.arguments(d.Arguments)
	}
	return n
}

func (c *sizer) arguments(list ast.ArgumentList) (n int) {
	for _, a := range list {
		n += c.value(a.Value)
	}
	return n
}

func (c *sizer) value(v *ast.Value) int {
	if v == nil {
		return 0
	}
	n := 1
	for _, child := range v.Children {
		n += c.value(child.Value)
	}
	return n
}
