package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/rest"
)

// BenchmarkSearch measures a search without the work of the resolver.
func BenchmarkSearch(b *testing.B) {
	h := newFixture(b)
	transport, err := rest.New(rest.Options{Schema: h.schema, Keys: keys{}, Sessions: sessions{}})
	if err != nil {
		b.Fatal(err)
	}
	found := talkRows()["search"].(object)
	hit := found["results"].([]any)[0]
	found["results"] = []any{hit, hit, hit, hit, hit, hit, hit, hit, hit, hit}
	h.fake.resolve = func(context.Context, call) (any, error) { return found, nil }
	server := newServer(h.fake)
	server.SetQueryCache(lru.New[*ast.QueryDocument](100))
	server.AddTransport(transport)
	serve := transport.Handler(server, http.NotFoundHandler())
	b.ReportAllocs()
	for b.Loop() {
		answer := httptest.NewRecorder()
		serve.ServeHTTP(answer, search("X-Service-Key", freeKey))
		if answer.Code != http.StatusOK {
			b.Fatalf("%d %s", answer.Code, answer.Body)
		}
	}
}
