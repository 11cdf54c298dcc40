package stack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
)

// embeddingService speaks the OpenAI embeddings protocol, until it hangs.
type embeddingService struct {
	address string
	hangs   atomic.Bool
	asked   atomic.Int64

	mu     sync.Mutex
	models map[string][]string // those that were asked for a text
}

// modelsFor returns the models that were asked for texts with a part.
func (s *embeddingService) modelsFor(part string) (models []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for text, asked := range s.models {
		if strings.Contains(text, part) {
			models = append(models, asked...)
		}
	}
	return models
}

func newEmbeddingService(t *testing.T) *embeddingService {
	t.Helper()
	s := &embeddingService{models: map[string][]string{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		var request struct {
			Model string
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if s.hangs.Load() {
			<-r.Context().Done()
			return
		}
		s.mu.Lock()
		for _, text := range request.Input {
			s.models[text] = append(s.models[text], request.Model)
		}
		s.mu.Unlock()
		var data []string
		for i, text := range request.Input {
			data = append(data, fmt.Sprintf(`{"object": "embedding", "index": %d, "embedding": [%d, %d, 1, 1]}`, i, 1+len(text)%7, 1+strings.Count(text, "e")))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"object": "list", "data": [%s], "model": "m"}`, strings.Join(data, ","))
	}))
	t.Cleanup(server.Close)
	s.address = server.URL + "/v1"
	return s
}

// answer is what a search over REST says.
type searchAnswer struct {
	Results  []struct{ Title string }
	Warnings []string
	took     time.Duration
}

func (s *service) ask(key, question string) searchAnswer {
	s.t.Helper()
	began := time.Now()
	body := strings.NewReader(fmt.Sprintf(`{"query": %q, "min_score": 0}`, question))
	response := s.request(http.MethodPost, "/v1/docs/search", "application/json", body, "X-Service-Key", key)
	defer func() { _ = response.Body.Close() }()
	var got struct{ Data searchAnswer }
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %d, %+v, %v", question, response.StatusCode, got, err)
	}
	got.Data.took = time.Since(began)
	return got.Data
}

// twoModels searches two collections of different models, each with its own.
func (s *service) twoModels(models *embeddingService) {
	s.t.Helper()
	first, ofFirst := s.connectorOf("m")
	second, ofSecond := s.connectorOf("second")
	for _, c := range []struct{ connector, collection, model, text, question string }{
		{first, ofFirst, "m", "Herons wade.", "where do herons wade"}, {second, ofSecond, "m-2", "Storks nest.", "where do storks nest"},
	} {
		_ = s.upload(c.connector, map[string]string{"birds.md": c.text}).Body.Close()
		s.watchOverSSE(s.startSync(c.connector))
		var found struct {
			Search struct {
				Results  []struct{ Snippet string }
				Warnings []string
			}
		}
		comes(s.t, "the model answers in time", func() bool {
			s.graphql(&found, `query($q: String!, $c: ID!) { search(input: {query: $q, collection: $c, minScore: 0}) { warnings results { snippet } } }`,
				map[string]any{"q": c.question, "c": c.collection})
			return len(found.Search.Warnings) == 0
		})
		if len(found.Search.Results) != 1 || !strings.Contains(found.Search.Results[0].Snippet, strings.Fields(c.text)[0]) {
			s.t.Errorf("a search with the model %s: %+v", c.model, found)
		}
		for _, text := range []string{c.text, c.question} {
			if asked := models.modelsFor(text); len(asked) == 0 || slices.ContainsFunc(asked, func(m string) bool { return m != c.model }) {
				s.t.Errorf("for %q the models %v were asked, want %s", text, asked, c.model)
			}
		}
	}
	// Of both collections, each vector is compared with those of its model.
	s.graphql(new(struct{}), `{ search(input: {query: "herons and storks", minScore: 0}) { total } }`, nil)
	comes(s.t, "both models are asked", func() bool {
		asked := models.modelsFor("herons and storks")
		return slices.Contains(asked, "m") && slices.Contains(asked, "m-2")
	})
}

// fingerprintsAtStart starts another process, which takes the fingerprint of a model that a
// collection has.
func (s *service) fingerprintsAtStart(model string) {
	s.t.Helper()
	pool := s.app.DB.Pool
	if _, err := pool.Exec(s.t.Context(), "delete from embedding_fingerprints"); err != nil {
		s.t.Fatal(err)
	}
	other, err := wire.Open(s.t.Context(), s.app.Config, slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	listener, err := web.Listen(s.t.Context(), "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	served, err := stack.Serve(s.t.Context(), other, listener, "test", false)
	if err != nil {
		s.t.Fatal(err)
	}
	comes(s.t, "a process takes the fingerprint of the model when it starts", func() (taken bool) {
		err := pool.QueryRow(s.t.Context(), "select exists (select from embedding_fingerprints where model = $1)", model).Scan(&taken)
		return err == nil && taken
	})
	if err := errors.Join(served.Stop(s.t.Context()), other.Close()); err != nil {
		s.t.Error(err)
	}
}

func TestAHangingEmbeddingModelCostsOneSearchASecond(t *testing.T) {
	t.Parallel()
	model := newEmbeddingService(t)
	file := filepath.Join(t.TempDir(), "models.json")
	if err := os.WriteFile(file, []byte(`[{"name": "second", "provider": "openai", "base_url": "`+model.address+`", "model": "m-2", "dimensions": 4}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, map[string]string{"EMBEDDING_BASE_URL": model.address, "EMBEDDING_MODEL": "m", "EMBEDDING_DIMENSIONS": "4", "EMBEDDING_CONFIG": file})
	connector := s.connector()
	_ = s.upload(connector, map[string]string{"tides.md": "# Tides\n\nHigh water comes twice a day.\n", "rivers.md": "# Rivers\n\nLow water comes in summer.\n"}).Body.Close()
	s.watchOverSSE(s.startSync(connector))
	var made struct{ CreateAPIKey madeKey }
	s.graphql(&made, `mutation { createAPIKey(input: {name: "Site", allowedHosts: ["example.com"], allowAllCollections: true, rateLimitPerMinute: 0}) { publishableKey secretKey apiKey { id } } }`, nil)
	key := made.CreateAPIKey.SecretKey

	comes(t, "the model answers in time", func() bool { return len(s.ask(key, "high water").Warnings) == 0 })
	s.fingerprintsAtStart("m")
	before := model.asked.Load()
	if got := s.ask(key, "high water"); len(got.Warnings) != 0 || model.asked.Load() != before {
		t.Errorf("a question asked again: %+v, %d calls", got, model.asked.Load()-before)
	}

	model.hangs.Store(true)
	if got := s.ask(key, "high water"); len(got.Warnings) != 0 || len(got.Results) != 2 {
		t.Errorf("a remembered question while the model hangs: %+v", got)
	}
	first := s.ask(key, "tides and water")
	if len(first.Warnings) != 1 || len(first.Results) == 0 || first.Results[0].Title != "Tides" || first.took < 900*time.Millisecond || first.took > 20*time.Second {
		t.Errorf("while the model hangs: %+v", first)
	}
	asked := model.asked.Load()
	second := s.ask(key, "water in summer")
	if len(second.Warnings) != 1 || len(second.Results) == 0 || model.asked.Load() != asked {
		t.Errorf("after that, %d more calls: %+v", model.asked.Load()-asked, second)
	}
	var found struct{ Search struct{ Warnings []string } }
	s.graphql(&found, `{ search(input: {query: "water in autumn"}) { warnings } }`, nil)
	if len(found.Search.Warnings) != 1 {
		t.Errorf("over GraphQL the warnings are %q", found.Search.Warnings)
	}

	model.hangs.Store(false)
	n := 0
	comes(t, "the model is asked again", func() bool {
		n++
		return len(s.ask(key, fmt.Sprint("water in month ", n)).Warnings) == 0
	})
	s.twoModels(model)
}
