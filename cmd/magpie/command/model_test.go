package command_test

import (
	"encoding/json"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
	"github.com/magpie-search/magpie/internal/testkit"
)

// embeddings serves vectors of four numbers over the OpenAI protocol.
func embeddings(t *testing.T) (address string, asked *atomic.Int64, down *atomic.Bool) {
	t.Helper()
	asked, down = new(atomic.Int64), new(atomic.Bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"error":{"message":"away"}}`)
			return
		}
		var request struct {
			Model string   `json:"model"`
			Input []string `json:"input"`
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer hunter2" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		asked.Add(int64(len(request.Input)))
		type row struct {
			Object    string    `json:"object"`
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		rows := make([]row, 0, len(request.Input))
		for i, text := range request.Input {
			hash := fnv.New32a()
			_, _ = hash.Write([]byte(text))
			sum := hash.Sum32()
			rows = append(rows, row{"embedding", i, []float32{1, float32(sum % 7), float32(sum % 11), float32(sum % 13)}})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": request.Model, "data": rows})
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", asked, down
}

// exec runs a statement.
func (s *shell) exec(database, statement string) {
	s.t.Helper()
	connection, err := pgx.Connect(s.t.Context(), database)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = connection.Close(s.t.Context()) }()
	if _, err := connection.Exec(s.t.Context(), statement); err != nil {
		s.t.Fatal(err)
	}
}

func TestConfiguredModelsAnswerAndEmbed(t *testing.T) {
	t.Parallel()
	chats := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"By hand, ", "once a year [1]."}, Usage: &[2]int{100, 7}})
	vectors, asked, down := embeddings(t)
	database := testkit.Database(t)
	s := &shell{t: t, flags: []string{
		"--config", settingsFile(t, "MIGRATE_DATABASE_URL="+database.OwnerURL,
			"LLM_BASE_URL="+chats.URL, "LLM_API_KEY=hunter3", "LLM_MODEL=small",
			"EMBEDDING_BASE_URL="+vectors, "EMBEDDING_API_KEY=hunter2", "EMBEDDING_MODEL=tiny", "EMBEDDING_DIMENSIONS=4"),
		"--database-url", database.AppURL, "--redis-url", testkit.Redis(t),
	}}
	s.ok("users", "create", "owner@example.com", "--new-workspace", "Test")
	s.work()
	s.ok("collections", "create", "Docs")
	s.ok("collections", "create", "Builtin", "--model", embed.BuiltinModel)
	s.fails("embeddingModel", "collections", "create", "Other", "--model", "unknown")
	var collection struct{ EmbeddingModel string }
	if s.read(&collection, "collections", "show", "Docs"); collection.EmbeddingModel != "tiny" {
		t.Errorf("%+v", collection)
	}
	s.ok("connectors", "create", "--name", "Files", "--type", "file", "--collection", "Docs")
	s.ok("files", "upload", "Files", write(t, map[string]string{"keys.md": "# Rotate the key\n\nThe signing key is rotated once a year, by hand.\n"}))
	var job shownJob
	if s.read(&job, "sync", "start", "Files"); job.Status != "COMPLETED" || job.Stats.Added != 1 {
		t.Errorf("%+v", job)
	}
	if asked.Load() == 0 {
		t.Error("the configured embedder was not asked")
	}
	if out := s.ok("search", "signing key", "--min-score", "0"); !strings.Contains(out, "Rotate the key") {
		t.Errorf("%s", out)
	}
	if out := s.ok("search", "signing key", "--explain"); !strings.Contains(out, "word: signing (") || !strings.Contains(out, "log-odds: ") {
		t.Errorf("an explanation: %s", out)
	}
	for query, want := range map[string]string{
		"signing key": "found\n", "walrus breeding": "no word in common", `"keys by robots"`: "Leave out the quotation marks", "annually -hand": "word that the query excludes",
	} {
		if out := s.ok("why-not", query, "keys.md"); !strings.Contains(out, want) {
			t.Errorf("why not %s: %s", query, out)
		}
	}
	if out := s.ok("why-not", "signing key", "other.md"); !strings.Contains(out, "no such document") {
		t.Errorf("why not a document that does not exist: %s", out)
	}
	if out := s.ok("eval", "--from-traffic", "--collection", "Docs"); !strings.Contains(out, "Docs: Too little traffic") {
		t.Errorf("quality without traffic: %s", out)
	}
	s.fails("--from-traffic", "eval")
	o := s.run("chat", "Who rotates the signing key?")
	if o.code != 0 || !strings.Contains(o.out, "By hand, once a year [1].") || !strings.Contains(o.out, "Rotate the key") || !strings.Contains(o.err, "107 tokens") {
		t.Errorf("%+v", o)
	}
	requests := chats.Requests()
	if len(requests) == 0 || requests[0].Authorization != "Bearer hunter3" || requests[0].Body["model"] != "small" {
		t.Errorf("%+v", requests)
	}
	if out := s.ok("models"); !strings.Contains(out, "tiny") || !strings.Contains(out, embed.BuiltinModel) || !strings.Contains(out, "default") {
		t.Errorf("models: %s", out)
	}
	// A service that gives other vectors than the ones that were kept.
	s.exec(database.OwnerURL, "insert into embedding_fingerprints (model, dimensions, vectors, changed_at, reason) values ('tiny', 3, decode(repeat('0000803f', 24), 'hex'), now(), 'Its vectors have 4 dimensions instead of 3.')")
	if o := s.run("status"); o.code != 0 || !strings.Contains(o.err, `model_changed: The embedding model "tiny" gives other vectors than before. Its vectors have 4 dimensions instead of 3.`) ||
		!strings.Contains(o.err, "magpie models accept tiny") {
		t.Errorf("status: %+v", o)
	}
	s.ok("models", "accept", "tiny")
	s.fails("there is no embedding model", "models", "accept", "unknown")
	if o := s.run("status"); strings.Contains(o.err, "model_changed") {
		t.Errorf("status after the model was accepted: %+v", o)
	}
	// A change is probed, and shown until it has ended.
	down.Store(true)
	s.fails(`the model "tiny" does not work, so that nothing was changed. The service failed or cannot be reached. (Status 503.) It said: away.`, "collections", "update", "Builtin", "--model", "tiny")
	s.fails("embeddingModel", "collections", "update", "Builtin", "--model", "unknown")
	down.Store(false)
	s.exec(database.OwnerURL, "update collections set next_model = 'gone' where name = 'Builtin'")
	want := "Builtin changes from " + embed.BuiltinModel + " to gone: 0 of 0 passages, failing: This model is no longer configured."
	for _, arguments := range [][]string{{"collections"}, {"status"}} {
		if o := s.run(arguments...); o.code != 0 || !strings.Contains(o.err, want) {
			t.Errorf("%v: %+v", arguments, o)
		}
	}
	if out := s.ok("collections", "show", "Builtin"); !strings.Contains(out, "0 of 0 passages, failing: This model is no longer") {
		t.Errorf("collections show: %s", out)
	}
	if strings.Contains(o.out+o.err, "hunter") {
		t.Error("a key was printed")
	}
}
