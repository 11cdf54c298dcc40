package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/agents/tools"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/chat/summary"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// memoryList keeps memories in a list.
type memoryList struct{ kept []memory.Note }

func (n *memoryList) Remember(_ context.Context, _, _ uuid.UUID, note memory.Note) (memory.Item, error) {
	n.kept = append(n.kept, note)
	return memory.Item{ID: uuid.New(), Content: note.Content}, nil
}

// fixture is a database with the workspaces of Ada and Eve.
type fixture struct {
	kit   *tools.Kit
	index *index.Store
	model embed.Embedder
	db    *store.DB
}

type tenant struct {
	viewer          viewer.Viewer
	open, closed    uuid.UUID // collections
	guide, hidden   uuid.UUID // documents in them
	connectorOpen   uuid.UUID
	connectorClosed uuid.UUID
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	analyzer := analysis.New()
	embedders, err := embed.NewRegistry(embed.NewBuiltin())
	if err != nil {
		t.Fatal(err)
	}
	engine := search.New(db.Pool, analyzer, embedders, search.Options{})
	t.Cleanup(engine.Close)
	documents := index.New(db.Pool, analyzer)
	models, err := llm.NewModels()
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{db: db, index: documents, model: embedders.Default(), kit: &tools.Kit{
		Ent: db.Ent, Search: engine, Texts: documents, Summaries: summary.New(models, analyzer, slog.New(slog.DiscardHandler)),
		Now: func() time.Time { return time.Date(2026, 3, 29, 23, 30, 5, 0, time.UTC) },
	}}
}

func (h *fixture) newTenant(t *testing.T, name string) *tenant {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	accounts, err := authn.NewAccounts(h.db.Ent, authn.NewPasswords(), []byte(strings.Repeat("k", 32)), nil)
	must(err)
	_, err = accounts.CreateOwner(t.Context(), name, name+"@example.com", name, "correct horse battery")
	must(err)
	tokens, err := accounts.SignIn(t.Context(), name+"@example.com", "correct horse battery")
	must(err)
	v, err := accounts.Authenticate(t.Context(), tokens.Access)
	must(err)
	out := &tenant{viewer: v}
	ctx := viewer.With(t.Context(), v)
	for i, c := range []string{"Open", "Closed"} {
		collection, err := h.db.Ent.Collection.Create().SetName(c + " of " + name).SetEmbeddingModel(h.model.Model()).Save(ctx)
		must(err)
		connector, err := h.db.Ent.Connector.Create().SetName("Files").SetType("file_upload").SetCollectionID(collection.ID).Save(ctx)
		must(err)
		text := "The " + strings.ToLower(c) + " password of " + name + " is xylophone." + strings.Repeat("\nA line about restoring the backups of "+name+".", 400)
		first := text[:strings.IndexByte(text, '\n')]
		vectors, err := h.model.Embed(t.Context(), []string{first}, embed.Passage)
		must(err)
		scope, err := viewer.System(v.Workspace).Scope()
		must(err)
		made, err := h.index.Put(t.Context(), scope, index.Fence{}, &index.Record{
			Connector: connector.ID, Collection: collection.ID, SourceID: c, Path: c + ".md", Title: c + " guide of " + name, Text: text, Language: "en",
			Hash: []byte(c), Passages: []passage.Passage{{Text: first, End: len(first)}}, Vectors: vectors, Model: h.model.Model(), Bytes: int64(len(text)),
		})
		must(err)
		if i == 0 {
			out.open, out.guide, out.connectorOpen = collection.ID, made.Document, connector.ID
		} else {
			out.closed, out.hidden, out.connectorClosed = collection.ID, made.Document, connector.ID
		}
	}
	return out
}

// runContext returns the context of a run that may search the tenant's open
// collection.
func (h *fixture) runContext(t *testing.T, n *tenant) (tools.RunContext, *memoryList) {
	t.Helper()
	scope, err := n.viewer.Scope()
	if err == nil {
		scope, err = scope.Narrow(n.open)
	}
	if err != nil {
		t.Fatal(err)
	}
	kept := &memoryList{}
	numbers := map[uuid.UUID]int{}
	return tools.RunContext{Scope: scope, Agent: uuid.New(), Run: uuid.New(), Memories: kept, SourceNumber: func(hit search.Hit) int {
		if numbers[hit.Document] == 0 {
			numbers[hit.Document] = len(numbers) + 1
		}
		return numbers[hit.Document]
	}}, kept
}

func call(ctx context.Context, t *testing.T, all []loop.Tool, name, arguments string) (map[string]any, loop.Result, error) {
	t.Helper()
	at := slices.IndexFunc(all, func(tool loop.Tool) bool { return tool.Name == name })
	if at < 0 {
		t.Fatalf("there is no tool %s", name)
	}
	result, err := all[at].Call(ctx, json.RawMessage(arguments))
	var fields map[string]any
	if err == nil {
		if err := json.Unmarshal([]byte(result.Text), &fields); err != nil {
			t.Fatalf("%s %s: %q is no JSON: %v", name, arguments, result.Text, err)
		}
		if result.Summary == "" {
			t.Errorf("%s %s: no summary", name, arguments)
		}
	}
	return fields, result, err
}

// validCalls returns valid arguments for each tool.
func validCalls(n *tenant) map[string]string {
	return map[string]string{
		tools.SearchDocuments: `{"query":"xylophone password","limit":"3","filters":{"language":"en"}}`, tools.GetDocument: `{"id":"` + n.guide.String() + `"}`,
		tools.SummarizeDocument: `{"id":"` + n.guide.String() + `"}`, tools.Calculate: `{"expression":"17% of 2340"}`,
		tools.GetCurrentDatetime: `{"timezone":"Europe/Berlin"}`, tools.Remember: `{"kind":"fact","content":"Ada plays the xylophone","importance":0.9}`,
		tools.SearchDatabaseSchema: "", tools.QueryDatabase: "", tools.GetTableInfo: "", // no database is attached
		tools.AskHuman: "", // the loop waits for the answer
	}
}

func TestEveryToolValidatesItsArguments(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.newTenant(t, "ada")
	ctx := viewer.With(t.Context(), ada.viewer)
	run, _ := h.runContext(t, ada)
	all := h.kit.Tools(run, tools.Names())
	cases := validCalls(ada)
	if len(all) != len(cases) || len(all) != len(tools.Names())+1 {
		t.Fatalf("%d tools, %d cases", len(all), len(cases))
	}
	for _, tool := range all {
		var schema struct {
			Type       string
			Properties map[string]map[string]any
			Required   []string
			Additional *bool `json:"additionalProperties"`
		}
		if err := json.Unmarshal(tool.Schema, &schema); err != nil || schema.Type != "object" || len(schema.Properties) == 0 || schema.Additional == nil || *schema.Additional ||
			schema.Required == nil || tool.Description == "" || tool.Timeout <= 0 {
			t.Errorf("%s: %s, %v", tool.Name, tool.Schema, err)
		}
		if arguments := cases[tool.Name]; arguments != "" {
			if _, _, err := call(ctx, t, all, tool.Name, arguments); err != nil {
				t.Errorf("%s %s: %v", tool.Name, arguments, err)
			}
		}
		for _, bad := range []string{``, `null`, `[]`, `"x"`, `{"unheard_of":1}`, `{"` + strings.Repeat("k", 5000) + `":1}`, `{"id":7,"query":7,"expression":7,"timezone":7,"table":7,"kind":7}`} {
			_, err := tool.Call(ctx, json.RawMessage(bad))
			var failure *apierr.Error
			if !errors.As(err, &failure) || failure.Code != apierr.InvalidRequest || len(failure.Message) > 500 {
				t.Errorf("%s %.60s: %v", tool.Name, bad, err)
			}
		}
		for _, name := range schema.Required {
			if _, err := tool.Call(ctx, json.RawMessage(`{}`)); err == nil || !strings.Contains(err.Error(), "is required") {
				t.Errorf("%s without %s: %v", tool.Name, name, err)
			}
		}
		for name, property := range schema.Properties {
			if property["type"] != "string" || property["enum"] != nil {
				continue
			}
			if property["maxLength"] == nil {
				t.Errorf("%s: %s has no bound", tool.Name, name)
			}
			arguments, _ := json.Marshal(map[string]any{name: strings.Repeat("x", 20_000)})
			if _, err := tool.Call(ctx, arguments); err == nil {
				t.Errorf("%s accepted 20,000 characters for %s", tool.Name, name)
			}
		}
	}
}

func TestToolsSeeNothingOutsideTheirScope(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.newTenant(t, "ada"), h.newTenant(t, "eve")
	run, _ := h.runContext(t, eve)
	ctx := viewer.With(t.Context(), eve.viewer)
	all := h.kit.Tools(run, tools.Names())
	for _, id := range []uuid.UUID{ada.guide, ada.hidden, ada.open, eve.hidden, eve.closed, uuid.New(), uuid.Nil} {
		for _, name := range []string{tools.GetDocument, tools.SummarizeDocument} {
			if _, _, err := call(ctx, t, all, name, `{"id":"`+id.String()+`"}`); apierr.From(err).Code != apierr.CodeNotFound {
				t.Errorf("%s of %s: %v", name, id, err)
			}
		}
	}
	for _, collection := range []string{ada.open.String(), ada.closed.String(), eve.closed.String(), "Open of ada", "Closed of eve", "closed OF eve", uuid.Nil.String()} {
		if _, _, err := call(ctx, t, all, tools.SearchDocuments, `{"query":"xylophone","collection":"`+collection+`"}`); apierr.From(err).Code != apierr.CodeNotFound {
			t.Errorf("search in %s: %v", collection, err)
		}
	}
	for _, arguments := range []string{`{"query":"xylophone password"}`, `{"query":"xylophone","collection":"open of EVE"}`, `{"query":"xylophone","collection":"` + eve.open.String() + `"}`} {
		fields, result, err := call(ctx, t, all, tools.SearchDocuments, arguments)
		if results, _ := fields["results"].([]any); err != nil || len(results) != 1 || strings.Contains(result.Text, "of ada") || strings.Contains(result.Text, "closed") || len(result.Hits) != 1 {
			t.Errorf("%s: %v, %s", arguments, err, result.Text)
		}
	}
	// A run with an empty scope finds nothing, and a run without a viewer fails.
	empty := run
	var err error
	if empty.Scope, err = run.Scope.Narrow(); err != nil {
		t.Fatal(err)
	}
	if fields, _, err := call(ctx, t, h.kit.Tools(empty, tools.Names()), tools.SearchDocuments, `{"query":"xylophone"}`); err != nil || fields["total"] != 0.0 {
		t.Errorf("a run with an empty scope: %v, %v", fields, err)
	}
	if _, _, err := call(t.Context(), t, all, tools.GetDocument, `{"id":"`+eve.guide.String()+`"}`); err == nil {
		t.Error("a document was read without a viewer")
	}
}

func TestToolResults(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.newTenant(t, "ada")
	ctx := viewer.With(t.Context(), ada.viewer)
	run, kept := h.runContext(t, ada)
	all := h.kit.Tools(run, tools.Names())
	fields, _, err := call(ctx, t, all, tools.SearchDocuments, `{"query":"xylophone password"}`)
	results, _ := fields["results"].([]any)
	if err != nil || len(results) != 1 {
		t.Fatalf("%v, %v", fields, err)
	}
	first, _ := results[0].(map[string]any)
	if first["source"] != 1.0 || first["document_id"] != ada.guide.String() || first["title"] != "Open guide of ada" || first["collection"] != "Open of ada" ||
		!strings.Contains(first["text"].(string), "xylophone") || first["score"].(float64) <= 0 {
		t.Errorf("%v", first)
	}
	whole := ""
	for page := 1; ; page++ {
		fields, _, err := call(ctx, t, all, tools.GetDocument, `{"id":"`+ada.guide.String()+`","page":`+string(rune('0'+page))+`}`)
		if err != nil {
			t.Fatal(err)
		}
		if fields["source"] != 1.0 || fields["page"] != float64(page) || len(fields["content"].(string)) > 8000 {
			t.Errorf("page %d: %v", page, fields["page"])
		}
		whole += fields["content"].(string)
		if fields["pages"] == float64(page) {
			if page < 2 {
				t.Errorf("%d pages", page)
			}
			break
		}
	}
	scope, _ := ada.viewer.Scope()
	if text, err := h.index.Content(ctx, scope, ada.guide); err != nil || whole != text {
		t.Errorf("the pages are not the document: %d and %d bytes, %v", len(whole), len(text), err)
	}
	if _, _, err := call(ctx, t, all, tools.GetDocument, `{"id":"`+ada.guide.String()+`","page":99}`); err == nil || !strings.Contains(err.Error(), "pages") {
		t.Errorf("page 99: %v", err)
	}
	if fields, _, err := call(ctx, t, all, tools.SummarizeDocument, `{"id":"`+ada.guide.String()+`"}`); err != nil || !strings.Contains(fields["summary"].(string), "ada") {
		t.Errorf("%v, %v", fields, err)
	}
	if fields, result, err := call(ctx, t, all, tools.Calculate, `{"expression":"1/3 + 0"}`); err != nil || fields["fraction"] != "1/3" || fields["exact"] != false || !strings.HasPrefix(result.Summary, "1/3 + 0 ≈ 0.333") {
		t.Errorf("%v, %v", fields, err)
	}
	if _, _, err := call(ctx, t, all, tools.Calculate, `{"expression":"1/0"}`); err == nil || !strings.Contains(err.Error(), "division by zero") {
		t.Errorf("%v", err)
	}
	fields, result, err := call(ctx, t, all, tools.GetCurrentDatetime, `{"timezone":"Europe/Berlin"}`)
	if err != nil || fields["datetime"] != "2026-03-30T01:30:05+02:00" || fields["weekday"] != "Monday" || fields["week"] != "2026-W14" || fields["unix"] != 1774827005.0 || fields["utc_offset"] != "+02:00" ||
		result.Summary != "Monday, 30 March 2026, 01:30:05 (Europe/Berlin)" {
		t.Errorf("%v, %q, %v", fields, result.Summary, err)
	}
	if fields, _, err := call(ctx, t, all, tools.GetCurrentDatetime, `{}`); err != nil || fields["datetime"] != "2026-03-29T23:30:05Z" || fields["timezone"] != "UTC" {
		t.Errorf("%v, %v", fields, err)
	}
	for _, zone := range []string{"Mars/Base", "Local", "../../etc/passwd", "CEST+2"} {
		if _, _, err := call(ctx, t, all, tools.GetCurrentDatetime, `{"timezone":"`+zone+`"}`); err == nil {
			t.Errorf("the time zone %s", zone)
		}
	}
	for name, arguments := range map[string]string{tools.SearchDatabaseSchema: `{"query":"orders"}`, tools.QueryDatabase: `{"query":"select 1"}`, tools.GetTableInfo: `{"table":"orders"}`} {
		if _, _, err := call(ctx, t, all, name, arguments); err == nil || !strings.Contains(err.Error(), "No database is attached") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := call(ctx, t, all, tools.Remember, `{"kind":"preference","content":" Tea "}`); err != nil || len(kept.kept) != 1 ||
		kept.kept[0] != (memory.Note{Kind: memory.Preference, Content: "Tea", Importance: 0.5}) {
		t.Errorf("%v, %v", kept.kept, err)
	}
	// Tools returns the tools of the given names and no others.
	run.Memories = nil
	if only := h.kit.Tools(run, []string{tools.Calculate, "rm", tools.Remember}); len(only) != 1 || only[0].Name != tools.Calculate {
		t.Errorf("%d tools", len(only))
	}
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{"query":"a","limit":"3"}`, `{"filters":{"tags":"x"}}`, `{"limit":1e400}`, `{"expression":"1+1"}`, `{"timezone":null}`, `{"id":"x","page":-1}`, `[`, `{"a":{"b":[[]]}}`} {
		f.Add([]byte(seed))
	}
	kit := &tools.Kit{Now: time.Now}
	all := kit.Tools(tools.RunContext{}, []string{tools.Calculate, tools.GetCurrentDatetime, tools.SearchDatabaseSchema, tools.QueryDatabase, tools.GetTableInfo})
	f.Fuzz(func(t *testing.T, arguments []byte) {
		for _, tool := range all {
			_, err := tool.Call(t.Context(), arguments)
			if err != nil && apierr.From(err).Code == apierr.Internal {
				t.Fatalf("%s: %v", tool.Name, err)
			}
		}
	})
}
