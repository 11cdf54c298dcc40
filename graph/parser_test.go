package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/graph"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestDocumentsAreLimitedBeforeTheyAreParsed(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	bomb := "{ me { ...F0 } }"
	for i := range 40 {
		bomb += fmt.Sprintf(" fragment F%d on Me { ...F%d ...F%d }", i, i+1, i+1)
	}
	bomb += " fragment F40 on Me { role }"
	for name, c := range map[string]struct{ document, person, anonymous string }{
		"brackets":        {"{ me(a: " + strings.Repeat("[", 60), "50 brackets deep", "20 brackets deep"},
		"many brackets":   {"{ me(a: " + strings.Repeat("[", 1_040_000), "50 brackets deep", "16384 bytes"},
		"list types":      {"query($a: " + strings.Repeat("[", 60) + "ID) { __typename }", "50 brackets deep", "20 brackets deep"},
		"tokens":          {"{" + strings.Repeat(" a", 11_000) + " }", "10000 tokens", "16384 bytes"},
		"few tokens":      {"{" + strings.Repeat(" __typename", 1100) + " }", "", "1000 tokens"},
		"comments":        {strings.Repeat("#\n", 11_000) + "{ me { role } }", "10000 tokens", "16384 bytes"},
		"a long name":     {"{ " + strings.Repeat("a", 256) + " }", "255 bytes", "255 bytes"},
		"bytes":           {"#" + strings.Repeat("x", 17<<10) + "\n{ __typename }", "", "16384 bytes"},
		"definitions":     {strings.Repeat("query A{a}", 201), "200 operations", "1000 tokens"},
		"few definitions": {strings.Repeat("query A{a}", 21), "-", "20 operations"},
		"a bomb":          {bomb, "25000 fields", "20 operations"},
		"a cycle":         {"{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }", "within itself", "within itself"},
		"its own cycle":   {"{ __typename } fragment A on Query { me { ...B } } fragment B on Me { ...B }", "within itself", "within itself"},
		"depth":           {"{ ...A } fragment A on Query {" + strings.Repeat("a{", 12) + "...B" + strings.Repeat("}", 13) + " fragment B on Query {" + strings.Repeat("a{", 12) + "b" + strings.Repeat("}", 13), "21 levels", "21 levels"},
		"sign-ins":        {`mutation { a: signIn(input: {email: "a", password: "b"}) { accessToken } b: signIn(input: {email: "a", password: "b"}) { accessToken } }`, "-", "more than 1 change"},
		"hidden sign-ins": {`mutation { ...F ...on Mutation { ...F } } fragment F on Mutation { signIn(input: {email: "a", password: "b"}) { accessToken } }`, "-", "more than 1 change"},
		"queries":         {"{ a: me { role } b: me { role } c: me { role } d: me { role } e: me { role } f: me { role } }", "", "more than 5 fields"},
		"the schema":      {"{ __schema { types {" + aliases(150, "fields { name type { name } }") + "} } }", "too much of the schema", "-"},
	} {
		for who, want := range map[string]string{"person": c.person, "anonymous caller": c.anonymous} {
			v := ada.viewer
			if who == "anonymous caller" {
				v = anonymous()
			}
			got := h.ask(t, v, c.document, nil)
			switch {
			case want == "-":
			case want == "" && got.code() != "":
				t.Errorf("%s by %s: %.300s", name, who, got.body)
			case want != "" && (got.code() != "invalid_request" || got.Data != nil || !strings.Contains(got.Errors[0].Message, want)):
				t.Errorf("%s by %s is not refused with %q: %.300s", name, who, want, got.body)
			}
		}
	}
}

func aliases(n int, field string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d: %s", i, field)
	}
	return b.String()
}

func TestManyPasswordsAreNotHashedAtOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	got := h.ask(t, ada.viewer, "mutation {"+aliases(20, `signIn(input: {email: "ada@example.com", password: "wrong"}) { accessToken }`)+" }", nil)
	if got.code() != "invalid_request" || !strings.Contains(got.body, "complexity") {
		t.Errorf("%.300s", got.body)
	}
}

func TestAnonymousCallersLearnNothingOfTheSchema(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	const (
		closed = `{"errors":[{"message":"Session required","extensions":{"code":"unauthorized"}}],"data":null}`
		unfit  = `{"errors":[{"message":"the operation does not fit the schema; sign in to be told why","extensions":{"code":"invalid_request"}}],"data":null}`
	)
	for document, hint := range map[string]string{
		"{ colections { totalCount } }": `Did you mean "collections"`,
		"{ me }":                        "Did you mean",
		"{ me { rol } }":                `on type "Me"`,
		"{ me { role { id } } }":        `"Role"`,
		"mutation { signIn(input: {email: 1}) { accessToken } }":                           "String",
		"mutation { signIn(inputs: {}) { accessToken } }":                                  "SignInInput",
		"query($a: Collectio!) { __typename }":                                             "Collectio",
		"query($a: String) { collection(id: $a) { id } }":                                  "ID!",
		"{ ...on Me { role } }":                                                            `"Query"`,
		"mutation { createCollection(input: {}) { id } }":                                  "name",
		"query($a: CollectionOrder) { collections(orderBy: [$a]) { edges { node {i} } } }": "Collection",
	} {
		if got := h.ask(t, ada.viewer, document, nil); got.code() != "invalid_request" || !strings.Contains(got.body, strings.ReplaceAll(hint, `"`, `\"`)) {
			t.Errorf("the error of a person lacks %s: %s", hint, got.body)
		}
		want := closed
		if strings.Contains(document, "signIn(") || strings.Contains(document, "__typename") {
			want = unfit
		}
		if got := h.ask(t, anonymous(), document, nil); got.body != want {
			t.Errorf("%s by an anonymous caller: %s", document, got.body)
		}
	}
	// Existing and missing fields have the same answer.
	for document, want := range map[string]string{
		"{ me { role } }": closed, "{ me { nope } }": closed, "{ nope { role } }": closed, "mutation { nope }": closed,
		"{ node(id: 1) { ... on Collection { name } } }": closed, "{ node(id: 1) { ... on Collectionx { name } } }": closed,
		"{ ...f } fragment f on Query { collections(first: 10) { edges { node { documents { edges { node { id } } } } } } }": closed,
		"{ __schema { types { name } } }":                             closed,
		"{ signUpAllowed } fragment f on Role { a }":                  unfit,
		"{ signUpAllowed } fragment f on Nope { a }":                  unfit,
		"query($n: Role!) { signUpAllowed @include(if: $n) }":         unfit,
		"query($n: Nope!) { signUpAllowed @include(if: $n) }":         unfit,
		"{ ... on Me { __typename } }":                                unfit,
		"{ ... on Nope { __typename } }":                              unfit,
		"{ signUpAllowed ...gone }":                                   unfit,
		"query A { signUpAllowed } query B { me { role } }":           closed,
		"mutation { signIn(input: {email: 1}) { accessToken user } }": unfit,
	} {
		if got := h.ask(t, anonymous(), document, nil); got.body != want {
			t.Errorf("%s by an anonymous caller: %s", document, got.body)
		}
	}
	create := "mutation($i: CreateCollectionInput!) { createCollection(input: $i) { id } }"
	for _, variables := range []map[string]any{nil, {"i": map[string]any{}}, {"i": map[string]any{"nam": "x"}}} {
		if got := h.ask(t, ada.viewer, create, variables); got.code() != "invalid_request" {
			t.Errorf("%s", got.body)
		}
		if got := h.ask(t, anonymous(), create, variables); got.body != closed {
			t.Errorf("%v by an anonymous caller: %s", variables, got.body)
		}
	}
	// Errors of the variables of signIn name the field, because forms show them.
	got := h.ask(t, anonymous(), "mutation($i: SignInInput!) { signIn(input: $i) { accessToken } }", map[string]any{"i": map[string]any{"email": "a@example.com"}})
	if got.code() != "invalid_request" || !strings.Contains(got.body, "password") {
		t.Errorf("a sign-in without a password: %s", got.body)
	}
	got = h.ask(t, ada.viewer, "{ a b c }", nil)
	if len(got.Errors) != 3 || got.Errors[2].Extensions["code"] != "invalid_request" {
		t.Errorf("want all three errors: %s", got.body)
	}
	if got = h.ask(t, ada.viewer, "{"+aliases(2000, "nothing")+"}", nil); len(got.Errors) != 50 {
		t.Errorf("%d errors, want 50", len(got.Errors))
	}
}

// heapBytes returns the size of the heap in use.
func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestTheCacheOfDocumentsIsLimitedInBytes(t *testing.T) { // measures the heap
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	h.ask(t, ada.viewer, "{ me { role } }", nil)
	before := heapBytes()
	for name, document := range map[string]func(i int) string{
		"a long comment": func(i int) string { return fmt.Sprintf("# %d%s\n{ __typename }", i, strings.Repeat(" ", 930_000)) },
		"many fields": func(i int) string {
			return fmt.Sprintf("{ a%d: __typename %s }", i, strings.Repeat("__typename ", 9000))
		},
		"some fields": func(i int) string {
			return fmt.Sprintf("{ a%d: __typename %s }", i, strings.Repeat("__typename ", 1000))
		},
		"too much": func(i int) string {
			return "{ " + aliases(1000, fmt.Sprintf("a%d: collections(first: 200) { edges { node { id } } }", i)) + " }"
		},
	} {
		for i := range 100 {
			h.ask(t, ada.viewer, document(i), nil)
		}
		if grown := heapBytes() - before; grown > 24<<20 {
			t.Errorf("%s: %d MiB in use", name, grown>>20)
		} else {
			t.Logf("%s: %.1f MiB in use", name, float64(grown)/(1<<20))
		}
	}
	runtime.KeepAlive(h)
}

func TestValidationEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	body, err := json.Marshal(map[string]string{"query": "{" + aliases(1500, "me { role }") + "}"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(viewer.With(t.Context(), ada.viewer))
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.server.ServeHTTP(w, r)
	if !strings.Contains(w.Body.String(), "the request has ended") {
		t.Errorf("%.300s", w.Body)
	}
}

func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		"{ me { role } }", "query A($a: [[ID!]!] = [[1]]) @skip(if: true) { ...F @include(if: $a) } fragment F on Query { a: b(c: {d: [$a]}) }",
		"{ ...A } fragment A on Query { ...A }", `{ a(b: """x""", c: "\u0041") #` + "\n}", "{ a { a { a { a } a } } }", "subscription { a", "\ufeff{a,}", strings.Repeat("{a", 30),
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	schema := graph.NewSchema(&graph.Resolver{}).Schema()
	f.Fuzz(func(t *testing.T, text string, anonymous bool) {
		graph.ParseDocument(t, schema, text, anonymous)
	})
}
