package graph_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/graph"
)

// randomDocument returns a random document for the schema of the test below. It has few
// names, so that fields overlap, and fragments that spread only later ones.
func randomDocument(r *rand.Rand) string {
	types := []string{"Pet", "Dog", "Cat", "Query"}
	var selection func(on string, depth, fragments, of int) string
	selection = func(on string, depth, fragments, of int) string {
		var b strings.Builder
		b.WriteString("{")
		for range 1 + r.IntN(3) {
			alias := string("xy"[r.IntN(2)]) + ": "
			switch n := r.IntN(10); {
			case n < 2 && fragments < of:
				fmt.Fprintf(&b, " ...F%d", fragments+r.IntN(of-fragments))
			case n < 4 && depth > 0 && on != "Query":
				to := types[r.IntN(3)]
				fmt.Fprintf(&b, " ...on %s%s", to, selection(to, depth-1, fragments, of))
			case n < 7 && depth > 0:
				fmt.Fprintf(&b, " %spet%s", alias, selection("Pet", depth-1, fragments, of))
			case n < 8:
				fmt.Fprintf(&b, " %sname(a: %d)", alias, r.IntN(2))
			default:
				fmt.Fprintf(&b, " %s%s", alias, []string{"name", "age", "tags", "name"}[r.IntN(4)])
			}
		}
		return b.String() + " }"
	}
	of := r.IntN(4)
	text := selection("Query", 3, 0, of)
	for i := range of {
		on := types[r.IntN(3)]
		text += fmt.Sprintf(" fragment F%d on %s%s", i, on, selection(on, 2, i+1, of))
	}
	return text
}

// The library's rule is the oracle. It accepts some conflicts that the specification
// refuses, between an object and a value and between lists. It refuses nothing else.
func TestFieldsAreMergedAsSpecified(t *testing.T) {
	t.Parallel()
	schema, err := gqlparser.LoadSchema(&ast.Source{Input: `
		type Query { pet: Pet name(a: Int): String age: Int tags: [String] }
		interface Pet { pet: Pet name(a: Int): String age: Int tags: [String] }
		type Dog implements Pet { pet: Pet name(a: Int): String age: Int tags: [String] }
		type Cat implements Pet { pet: Pet name(a: Int): String age: Int tags: [String] }`})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	agreed, conflicts := 0, 0
	for range 20_000 {
		text := randomDocument(r)
		ours, theirs, shape := graph.Conflicts(t, schema, text)
		switch {
		case ours == theirs:
			agreed++
			if ours {
				conflicts++
			}
		case theirs:
			t.Fatalf("only the library refuses %s", text)
		case !shape:
			t.Fatalf("only this rule refuses %s", text)
		}
	}
	t.Logf("%d of 20,000 documents agree, %d of them with a conflict", agreed, conflicts)
	if agreed < 15_000 || conflicts < 1000 {
		t.Error("the random documents do not cover all cases")
	}
}

func TestArgumentsDifferInTheirValues(t *testing.T) {
	t.Parallel()
	schema, err := gqlparser.LoadSchema(&ast.Source{Input: `input I { a: [Int] b: I } type Query { f(i: I, j: Int): Int }`})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"{ f(i: {a: [1, 2]}) f(i: {a: [1, 2]}) }":                 false,
		"{ f(i: {a: [1, 2]}) f(i: {a: [2, 1]}) }":                 true,
		"{ f(i: {a: [1], b: {a: 1}}) f(i: {b: {a: 1}, a: [1]}) }": false,
		"{ f(i: {a: [1], b: {a: 1}}) f(i: {b: {a: 2}, a: [1]}) }": true,
		"{ f(i: {a: 1}, j: 1) f(j: 1, i: {a: 1}) }":               false,
		"{ f(i: {a: 1}, j: 1) f(i: {a: 1}) }":                     true,
		"query($i: I, $k: I) { f(i: $i) f(i: $k) }":               true,
	} {
		if ours, _, _ := graph.Conflicts(t, schema, text); ours != want {
			t.Errorf("%s: %t", text, ours)
		}
	}
}
