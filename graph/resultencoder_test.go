package graph_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/graph"
	"github.com/magpie-search/magpie/graph/generated"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/viewer"
)

// finding is a resolver whose searches return the results in the context.
type finding struct{ *graph.Resolver }

type foundKey struct{}

func (f finding) Query() generated.QueryResolver { return findingQuery{f.Resolver.Query()} }

type findingQuery struct{ generated.QueryResolver }

func (findingQuery) Search(ctx context.Context, _ model.SearchInput) (*model.SearchResults, error) {
	return ctx.Value(foundKey{}).(*model.SearchResults), nil
}

// findings returns the plain executor of the schema, and the server.
func findings() (executor, server *handler.Server, schema graphql.ExecutableSchema) {
	r := &graph.Resolver{Ent: ent.NewClient(), Log: slog.New(slog.DiscardHandler), Now: time.Now}
	c := generated.Config{Resolvers: finding{r}}
	c.Directives.Surface = func(ctx context.Context, _ any, next graphql.Resolver, _ []model.Surface, _ bool) (any, error) {
		return next(ctx)
	}
	schema = generated.NewExecutableSchema(c)
	executor, server = handler.New(schema), graph.NewServer(r, schema, graph.Options{})
	executor.AddTransport(bare{})
	server.AddTransport(bare{})
	return executor, server, schema
}

// bare is a transport that writes the data of the response only.
type bare struct{}

func (bare) Supports(*http.Request) bool { return true }

func (bare) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	query, _ := io.ReadAll(r.Body)
	operation, wrong := exec.CreateOperationContext(r.Context(), &graphql.RawParams{Query: string(query)})
	if len(wrong) > 0 {
		http.Error(w, wrong.Error(), http.StatusBadRequest)
		return
	}
	responses, ctx := exec.DispatchOperation(r.Context(), operation)
	response := responses(ctx)
	if len(response.Errors) > 0 {
		w.WriteHeader(http.StatusInternalServerError)
	}
	_, _ = w.Write(response.Data)
}

func answered(t testing.TB, s http.Handler, query string, found *model.SearchResults) (data string, failed bool) {
	t.Helper()
	ctx := viewer.With(t.Context(), viewer.Viewer{Workspace: uuid.New(), Subject: uuid.New(), Kind: viewer.KindSession, Surface: viewer.SurfaceDashboard})
	r := httptest.NewRequestWithContext(context.WithValue(ctx, foundKey{}, found), http.MethodPost, "/graphql", strings.NewReader(query))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code == http.StatusBadRequest || w.Body.Len() == 0 {
		t.Fatalf("%s: %d %s", query, w.Code, w.Body)
	}
	return w.Body.String(), w.Code != http.StatusOK
}

func pointer[T any](value T) *T { return &value }

// aResult returns a result with every field and with characters that JSON escapes.
func aResult() *model.SearchResult {
	return &model.SearchResult{
		ID: uuid.New(), DocumentID: uuid.New(), CollectionID: uuid.New(), Title: "A \"title\" \\ <b>\u2028\n\t\r\x01\x7f\xff é 漢 🐦", URL: pointer("https://example.com/?a=1&b=2#c"),
		Snippet: "<mark>one</mark> &amp; two", Score: 0.12345678901234567, Section: pointer(""), Version: pointer("2.0"), Tags: []string{"a", "\"b\""},
		DocType: pointer("page"), Language: pointer("en"), Collection: "Handbook", Source: "s3", HeadingPath: []string{"One", "Two"},
		UpdatedAt: pointer(time.Date(2026, 11, 20, 8, 0, 0, 120, time.FixedZone("", 3600))),
		Metadata:  map[string]any{"z": 1, "a": []any{"<", nil, 1.5}, "m": map[string]any{"x": true}},
	}
}

func TestResultsAreEncodedAsByTheExecutor(t *testing.T) {
	t.Parallel()
	executor, server, schema := findings()
	changed := func(change func(*model.SearchResult)) *model.SearchResult {
		r := aResult()
		change(r)
		return r
	}
	poor := &model.SearchResult{ID: uuid.New(), DocumentID: uuid.New(), CollectionID: uuid.New(), Metadata: map[string]any{}}
	lists := map[string][]*model.SearchResult{
		"none": {}, "nil": nil, "one": {aResult()}, "poor": {poor}, "several": {aResult(), poor, aResult(), aResult()},
		"empty lists": {changed(func(r *model.SearchResult) { r.Tags, r.HeadingPath = []string{}, nil })},
		"explained": {aResult(), changed(func(r *model.SearchResult) {
			r.Explanation = &model.SearchExplanation{
				Tier: model.SearchTierStored, Change: 3, Words: []*model.ExplainedWord{{Text: "a"}}, Order: &model.ExplainedSum{Total: 0.5},
			}
		})},
		"duplicates": {aResult(), changed(func(r *model.SearchResult) {
			r.Duplicates = &model.SearchDuplicates{Count: 3, Versions: []string{"2.0", `"1"`}}
		}), changed(func(r *model.SearchResult) { r.Duplicates = &model.SearchDuplicates{Count: 1, Versions: []string{}} })},
		"no time": {changed(func(r *model.SearchResult) { r.UpdatedAt = &time.Time{} })},
	}
	for i, score := range []float64{0, 1, 1e-7, 1e21, 0.1 + 0.2, -0.5, math.Copysign(0, -1), math.MaxFloat64} {
		lists[fmt.Sprint("score ", i)] = []*model.SearchResult{changed(func(r *model.SearchResult) { r.Score = score })}
	}
	cannot := map[string][]*model.SearchResult{ // be encoded: the executor reports an error
		"no id": {aResult(), changed(func(r *model.SearchResult) { r.ID = uuid.Nil })}, "no document": {changed(func(r *model.SearchResult) { r.DocumentID = uuid.Nil })},
		"no collection": {changed(func(r *model.SearchResult) { r.CollectionID = uuid.Nil })}, "no number": {changed(func(r *model.SearchResult) { r.Score = math.NaN() })},
		"endless": {changed(func(r *model.SearchResult) { r.Score = math.Inf(1) })}, "no metadata": {changed(func(r *model.SearchResult) { r.Metadata = nil })},
		"no result": {nil, aResult()},
	}
	var fields []string
	for _, f := range schema.Schema().Types["SearchResult"].Fields {
		switch f.Name {
		case "explanation":
			fields = append(fields, "explanation { tier change words { text } order { total } }")
		case "duplicates":
			fields = append(fields, "duplicates { n: count versions __typename }")
			continue // duplicatesEncoder
		default:
			fields = append(fields, f.Name)
		}
		if !graph.EncodesResultField(f.Name) {
			t.Errorf("results with %s are left to the executor: add the field to fieldEncoder (graph/resultencoder.go)", f.Name)
		}
	}
	all := strings.Join(fields, " ")
	const search = `search(input: {query: "q"})`
	queries := map[string]string{
		"all":        "{ " + search + " { total results { " + all + " } limit } }",
		"backwards":  "{ " + search + " { results { metadata __typename updatedAt id } tookMs } }",
		"aliases":    "{ a: " + search + " { r: results { x: id y: id __typename title: url url: title } results { id } } b: " + search + " { results { score } } }",
		"fragments":  "{ " + search + " { results { ...F id ... on SearchResult { source title } ... @include(if: true) { tags } } } } fragment F on SearchResult { title snippet }",
		"conditions": "query($y: Boolean = true, $n: Boolean = false) { " + search + " { results { id @skip(if: $y) title @include(if: $n) ...F @skip(if: $n) } } } fragment F on SearchResult { url }",
		"no fields":  "query($y: Boolean = true) { " + search + " { results { id @skip(if: $y) } } }",
		"root":       "{ ...Q } fragment Q on Query { " + search + " { results { " + all + " } } }",
		"twice":      "{ " + search + " { results { id } ... { results { title id } } } }",
	}
	for name, query := range queries {
		for list, results := range lists {
			found := &model.SearchResults{Results: results, Total: 7, Limit: 10, TookMs: 1.5}
			want, failed := answered(t, executor, query, found)
			got, alsoFailed := answered(t, server, query, found)
			if got != want || failed || alsoFailed {
				t.Errorf("%s, %s:\n%s\n%s", name, list, got, want)
			}
		}
	}
	for list, results := range cannot {
		found := &model.SearchResults{Results: results}
		want, failed := answered(t, executor, queries["all"], found)
		got, alsoFailed := answered(t, server, queries["all"], found)
		if got != want || !failed || !alsoFailed {
			t.Errorf("%s:\n%s, failed %v\n%s, failed %v", list, got, alsoFailed, want, failed)
		}
	}
}

// What the server itself adds to a search with ten results.
func BenchmarkResults(b *testing.B) {
	_, server, _ := findings()
	found := &model.SearchResults{Total: 1000, Limit: 10}
	for range 10 {
		found.Results = append(found.Results, aResult())
	}
	query := `{ search(input: {query: "q"}) { results { id documentId title url snippet score section version tags docType language collection source headingPath updatedAt metadata } total } }`
	b.ReportAllocs()
	for b.Loop() {
		if _, failed := answered(b, server, query, found); failed {
			b.Fatal("it failed")
		}
	}
}
