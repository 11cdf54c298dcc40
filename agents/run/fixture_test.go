package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/agents/tools"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/chat/summary"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/live/journal"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// memories is an in-memory store of memories.
type memories struct {
	mu    sync.Mutex
	items []memory.Item
	fail  error
}

func (m *memories) Recall(context.Context, uuid.UUID, string, int) ([]memory.Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]memory.Item(nil), m.items...), m.fail
}

func (m *memories) Remember(_ context.Context, _, _ uuid.UUID, note memory.Note) (memory.Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	item := memory.Item{ID: uuid.New(), Kind: note.Kind, Content: note.Content, Importance: note.Importance}
	m.items = append(m.items, item)
	return item, nil
}

// noQueue drops tasks: tests take queued runs from their rows.
type noQueue struct{}

func (noQueue) Enqueue(context.Context, queue.Task) error { return nil }

// extraTools are the tools of integrations.
type extraTools struct{ tools []loop.Tool }

func (e *extraTools) Tools(context.Context, viewer.Viewer, *ent.Agent, uuid.UUID) ([]loop.Tool, error) {
	return e.tools, nil
}

// fixture is a database, a Redis, and Ada with an agent and a document.
type fixture struct {
	db        *store.DB
	redis     redis.UniversalClient
	kit       *tools.Kit
	memories  *memories
	approvals *approval.Store
	tools     *extraTools
	accounts  *authn.Accounts
	ada       context.Context // of a test
	viewer    viewer.Viewer
	agent     *ent.Agent
	document  uuid.UUID
}

const password = "correct horse battery"

func newFixture(t testing.TB) *fixture {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 16)
	must(err)
	t.Cleanup(db.Close)
	options, err := redis.ParseURL(testkit.Redis(t))
	must(err)
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	analyzer := analysis.New()
	embedders, err := embed.NewRegistry(embed.NewBuiltin())
	must(err)
	engine := search.New(db.Pool, analyzer, embedders, search.Options{})
	t.Cleanup(engine.Close)
	documents := index.New(db.Pool, analyzer)
	none, err := llm.NewModels()
	must(err)
	h := &fixture{db: db, redis: client, memories: &memories{}, tools: &extraTools{}, approvals: approval.New(approval.Options{Ent: db.Ent}), kit: &tools.Kit{
		Ent: db.Ent, Search: engine, Texts: documents, Summaries: summary.New(none, analyzer, slog.New(slog.DiscardHandler)), Now: time.Now,
	}}
	h.accounts, err = authn.NewAccounts(db.Ent, authn.NewPasswords(), []byte(strings.Repeat("k", 32)), nil)
	must(err)
	_, err = h.accounts.CreateOwner(t.Context(), "ada", "ada@example.com", "Ada", password)
	must(err)
	h.ada = h.signIn(t, "ada@example.com")
	h.viewer, _ = viewer.From(h.ada)
	collection, err := db.Ent.Collection.Create().SetName("Docs").SetEmbeddingModel(embedders.Default().Model()).Save(h.ada)
	must(err)
	connector, err := db.Ent.Connector.Create().SetName("Files").SetType("file_upload").SetCollectionID(collection.ID).Save(h.ada)
	must(err)
	text := "Backups are restored with the xylophone command."
	vectors, err := embedders.Default().Embed(t.Context(), []string{text}, embed.Passage)
	must(err)
	scope, err := viewer.System(h.viewer.Workspace).Scope()
	must(err)
	made, err := documents.Put(t.Context(), scope, index.Fence{}, &index.Record{
		Connector: connector.ID, Collection: collection.ID, SourceID: "a", Path: "a.md", Title: "Guide", URL: "https://docs.example/guide", Text: text, Language: "en",
		Hash: []byte("a"), Passages: []passage.Passage{{Text: text, End: len(text)}}, Vectors: vectors, Model: embedders.Default().Model(), Bytes: int64(len(text)),
	})
	must(err)
	h.document = made.Document
	h.agent = h.newAgent(t, "Guide")
	return h
}

func (h *fixture) newAgent(t testing.TB, name string) *ent.Agent {
	t.Helper()
	agent, err := h.db.Ent.Agent.Create().SetName(name).SetSystemPrompt("You help.").SetTools(tools.Names()).Save(h.ada)
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

func (h *fixture) signIn(t testing.TB, email string) context.Context {
	t.Helper()
	tokens, err := h.accounts.SignIn(t.Context(), email, password)
	if err != nil {
		t.Fatal(err)
	}
	v, err := h.accounts.Authenticate(t.Context(), tokens.Access)
	if err != nil {
		t.Fatal(err)
	}
	return viewer.With(t.Context(), v)
}

// signInBob adds another person to the workspace.
func (h *fixture) signInBob(t testing.TB) context.Context {
	t.Helper()
	if _, err := h.accounts.AddMember(t.Context(), h.viewer.Workspace, "bob@example.com", "", password, membership.RoleViewer); err != nil {
		t.Fatal(err)
	}
	return h.signIn(t, "bob@example.com")
}

// newRuns returns the runs of a process. Its model plays the replies; without
// replies there is no model.
func (h *fixture) newRuns(t testing.TB, change func(*run.Options), replies ...llmtest.Reply) *run.Runs {
	t.Helper()
	var chat []llm.ChatModel
	if len(replies) > 0 {
		model, err := llm.NewOpenAI(llm.Config{Name: "test", BaseURL: llmtest.NewServer(t, replies...).URL, Model: "m-1"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(model.Close)
		chat = append(chat, model)
	}
	models, err := llm.NewModels(chat...)
	if err != nil {
		t.Fatal(err)
	}
	box, err := secret.NewBox(map[string][]byte{"k": make([]byte, secret.KeyBytes)}, "k")
	if err != nil {
		t.Fatal(err)
	}
	o := run.Options{
		Ent: h.db.Ent, Models: models, Kit: h.kit, Bus: journal.NewRedisBus(h.redis, "test", nil), Memories: h.memories,
		Queue: noQueue{}, Secrets: box, Viewers: h.accounts.Member, Approvals: h.approvals, Integrations: h.tools,
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
	}
	if change != nil {
		change(&o)
	}
	runs, err := run.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runs.Close)
	return runs
}

// collect reads all events and checks their numbers.
func collect(t testing.TB, events <-chan run.Event, after int64) []run.Event {
	t.Helper()
	var out []run.Event
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return out
			}
			if after++; e.Seq != after {
				t.Errorf("event %d came as number %d", e.Seq, after)
			}
			out = append(out, e)
		case <-ctx.Done():
			t.Fatalf("the events do not end: %s", describe(out))
		}
	}
}

// describe returns a line for each event, with content joined.
func describe(events []run.Event) string {
	var out []string
	for _, e := range events {
		data := string(e.Data)
		if e.Type == run.TypeContent && len(out) > 0 && strings.HasPrefix(out[len(out)-1], "content ") {
			var c run.Content
			_ = json.Unmarshal(e.Data, &c)
			out[len(out)-1] += c.Content
			continue
		}
		if e.Type == run.TypeContent {
			var c run.Content
			_ = json.Unmarshal(e.Data, &c)
			data = c.Content
		}
		out = append(out, e.Type+" "+data)
	}
	return strings.Join(out, "\n")
}

func eventTypes(events []run.Event) string {
	var out []string
	for _, e := range events {
		if len(out) == 0 || e.Type != run.TypeContent || out[len(out)-1] != run.TypeContent {
			out = append(out, e.Type)
		}
	}
	return strings.Join(out, " ")
}

// start starts a run and follows it.
func start(ctx context.Context, t testing.TB, runs *run.Runs, in run.Input) (*ent.AgentRun, <-chan run.Event) {
	t.Helper()
	row, err := runs.Start(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	events, err := runs.Watch(ctx, row.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	return row, events
}

// eventually waits until a condition holds.
func eventually(t testing.TB, condition string, ready func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		if time.Now().After(deadline) {
			t.Fatal("never: " + condition)
		}
		<-tick.C
	}
}

func callReply(calls ...string) llmtest.Reply {
	reply := llmtest.Reply{Usage: &[2]int{100, 10}}
	for i := 0; i+1 < len(calls); i += 2 {
		reply.Calls = append(reply.Calls, llm.ToolCall{ID: fmt.Sprintf("c%d", i/2), Name: calls[i], Arguments: calls[i+1]})
	}
	return reply
}

func textReply(parts ...string) llmtest.Reply {
	return llmtest.Reply{Parts: parts, Usage: &[2]int{120, 20}}
}
