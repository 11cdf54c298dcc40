package graph

import (
	"math"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/magpie-search/magpie/internal/apierr"
)

// bounds are the most that a document may have. They are checked in time linear
// in its bytes, before anything is done whose cost grows faster: the parser
// descends once a bracket, and validation visits a fragment once a path to it.
type bounds struct {
	bytes       int // of text
	tokens      int // comments among them
	nesting     int // of brackets of all kinds
	name        int // bytes of one name
	definitions int // operations and fragments
	size        int // nodes after fragments are put in place, over all definitions
	depth       int // levels of selections after fragments are put in place
	mutations   int // root fields of a mutation
	queries     int // root fields of a query or subscription
}

// boundsOfPeople are for whoever has proved who they are.
func boundsOfPeople() bounds {
	return bounds{
		bytes: 1 << 20, tokens: 10_000, nesting: 50, name: 255, definitions: 200, size: 25_000, depth: maxSchemaDepth + 1,
		mutations: math.MaxInt, queries: math.MaxInt,
	}
}

// boundsOfStrangers suffice for signing in and its like. One mutation is one
// password to hash.
func boundsOfStrangers() bounds {
	return bounds{
		bytes: 16 << 10, tokens: 1000, nesting: 20, name: 255, definitions: 20, size: 2000, depth: maxSchemaDepth + 1,
		mutations: 1, queries: 5,
	}
}

// boundsOfStored bind nothing: Magpie wrote what they are for.
func boundsOfStored() bounds {
	const any = math.MaxInt
	return bounds{bytes: any, tokens: any, nesting: any, name: any, definitions: any, size: any, depth: any, mutations: any, queries: any}
}

// measured is what a document has of what bounds limit.
type measured bounds

// refusal is the error of a document that does not keep to a bound.
func refusal(format string, args ...any) *graphqlError {
	err := gqlerror.Errorf(format, args...)
	err.Extensions = map[string]any{"code": string(apierr.InvalidRequest)}
	return err
}

// scan reads a document's tokens. It ends at the first bound that is crossed,
// and where the text is not GraphQL, which the parser says better.
func (b bounds) scan(text string) (m measured, wrong *graphqlError) {
	if m.bytes = len(text); m.bytes > b.bytes {
		return m, refusal("the operation is longer than %d bytes", b.bytes)
	}
	tokens := lexer.New(&ast.Source{Input: text})
	open := 0
	for {
		token, err := tokens.ReadToken()
		if err != nil || token.Kind == lexer.EOF {
			return m, nil
		}
		if m.tokens++; m.tokens > b.tokens {
			return m, refusal("the operation has more than %d tokens", b.tokens)
		}
		switch token.Kind {
		case lexer.BraceL, lexer.BracketL, lexer.ParenL:
			open++
			m.nesting = max(m.nesting, open)
		case lexer.BraceR, lexer.BracketR, lexer.ParenR:
			open--
		case lexer.Name:
			m.name = max(m.name, len(token.Value))
		}
		switch {
		case m.nesting > b.nesting:
			return m, refusal("the operation is nested more than %d brackets deep", b.nesting)
		case m.name > b.name:
			return m, refusal("the operation has a name longer than %d bytes", b.name)
		}
	}
}

// read scans and parses a document, and counts what it asks for. No document is
// parsed in another way.
func (b bounds) read(text string) (*ast.QueryDocument, measured, error) {
	m, wrong := b.scan(text)
	if wrong != nil {
		return nil, m, wrong
	}
	document, err := parser.ParseQuery(&ast.Source{Input: text})
	if err != nil {
		return nil, m, err
	}
	if wrong = m.count(document); wrong != nil {
		return nil, m, wrong
	}
	if wrong = b.check(m); wrong != nil {
		return nil, m, wrong
	}
	return document, m, nil
}

// check compares what a document has with the bounds.
func (b bounds) check(m measured) *graphqlError {
	switch {
	case m.bytes > b.bytes:
		return refusal("the operation is longer than %d bytes", b.bytes)
	case m.tokens > b.tokens:
		return refusal("the operation has more than %d tokens", b.tokens)
	case m.nesting > b.nesting:
		return refusal("the operation is nested more than %d brackets deep", b.nesting)
	case m.name > b.name:
		return refusal("the operation has a name longer than %d bytes", b.name)
	case m.definitions > b.definitions:
		return refusal("the document has more than %d operations and fragments", b.definitions)
	case m.size > b.size:
		return refusal("the document has more than %d fields, fragments, arguments and values, once its fragments are put in place", b.size)
	case m.depth > b.depth:
		return refusal("the operation is nested more than %d levels deep; ask for less at once", b.depth)
	case m.mutations > b.mutations:
		return refusal("sign in to ask for more than %d change at once", b.mutations)
	case m.queries > b.queries:
		return refusal("sign in to ask for more than %d fields at once", b.queries)
	}
	return nil
}

// extent is what a selection comes to with its fragments in place.
type extent struct{ size, depth, roots int }

func plus(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// counter computes extents, of each fragment once.
type counter struct {
	fragments map[string]*ast.FragmentDefinition
	known     map[string]extent
	open      map[string]bool // fragments on the way to this place
	cycle     *ast.FragmentSpread
}

// count fills in what only the parsed document tells. Cycles of fragments are
// refused: nothing after this has to reckon with them.
func (m *measured) count(document *ast.QueryDocument) *graphqlError {
	m.definitions = len(document.Operations) + len(document.Fragments)
	c := counter{
		fragments: make(map[string]*ast.FragmentDefinition, len(document.Fragments)), known: map[string]extent{}, open: map[string]bool{},
	}
	for _, f := range document.Fragments {
		if c.fragments[f.Name] == nil { // of two with one name, validation takes the first
			c.fragments[f.Name] = f
		}
	}
	for _, operation := range document.Operations {
		e := c.selection(operation.SelectionSet)
		m.size = plus(m.size, plus(e.size, c.directives(operation.Directives)))
		for _, v := range operation.VariableDefinitions {
			m.size = plus(m.size, 1+c.value(v.DefaultValue)+c.directives(v.Directives))
		}
		m.depth = max(m.depth, e.depth)
		if operation.Operation == ast.Mutation {
			m.mutations = max(m.mutations, e.roots)
		} else {
			m.queries = max(m.queries, e.roots)
		}
	}
	for _, f := range document.Fragments {
		m.size = plus(m.size, c.fragment(f).size)
	}
	if c.cycle != nil {
		wrong := refusal("Cannot spread fragment %q within itself.", c.cycle.Name)
		wrong.Locations = []gqlerror.Location{{Line: c.cycle.Position.Line, Column: c.cycle.Position.Column}}
		return wrong
	}
	return nil
}

func (c *counter) selection(set ast.SelectionSet) (sum extent) {
	for _, s := range set {
		var below extent
		own := 1
		switch s := s.(type) {
		case *ast.Field:
			below = c.selection(s.SelectionSet)
			below.depth, below.roots = plus(below.depth, 1), 1
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
				if c.open[f.Name] {
					c.cycle = s
				} else {
					below = c.fragment(f)
				}
			}
		}
		sum.size = plus(sum.size, plus(below.size, own))
		sum.depth = max(sum.depth, below.depth)
		sum.roots = plus(sum.roots, below.roots)
	}
	return sum
}

func (c *counter) fragment(f *ast.FragmentDefinition) extent {
	if e, ok := c.known[f.Name]; ok {
		return e
	}
	c.open[f.Name] = true
	e := c.selection(f.SelectionSet)
	e.size = plus(e.size, c.directives(f.Directives))
	delete(c.open, f.Name)
	c.known[f.Name] = e
	return e
}

func (c *counter) directives(list ast.DirectiveList) int {
	n := len(list)
	for _, d := range list {
		n += c.arguments(d.Arguments)
	}
	return n
}

func (c *counter) arguments(list ast.ArgumentList) (n int) {
	for _, a := range list {
		n += c.value(a.Value)
	}
	return n
}

func (c *counter) value(v *ast.Value) int {
	if v == nil {
		return 0
	}
	n := 1
	for _, child := range v.Children {
		n += c.value(child.Value)
	}
	return n
}
