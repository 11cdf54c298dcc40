package stack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// embeddingService speaks the OpenAI embeddings protocol, until it hangs.
type embeddingService struct {
	address string
	hangs   atomic.Bool
	asked   atomic.Int64
}

func newEmbeddingService(t *testing.T) *embeddingService {
	t.Helper()
	s := &embeddingService{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		var request struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if s.hangs.Load() {
			<-r.Context().Done()
			return
		}
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

func TestAHangingEmbeddingModelCostsOneSearchASecond(t *testing.T) {
	t.Parallel()
	model := newEmbeddingService(t)
	s := start(t, map[string]string{"EMBEDDING_BASE_URL": model.address, "EMBEDDING_MODEL": "m", "EMBEDDING_DIMENSIONS": "4"})
	connector := s.connector()
	_ = s.upload(connector, map[string]string{"tides.md": "# Tides\n\nHigh water comes twice a day.\n", "rivers.md": "# Rivers\n\nLow water comes in summer.\n"}).Body.Close()
	s.watchOverSSE(s.startSync(connector))
	var made struct{ CreateAPIKey madeKey }
	s.graphql(&made, `mutation { createAPIKey(input: {name: "Site", allowedHosts: ["example.com"], allowAllCollections: true, rateLimitPerMinute: 0}) { publishableKey secretKey apiKey { id } } }`, nil)
	key := made.CreateAPIKey.SecretKey

	comes(t, "the model answers in time", func() bool { return len(s.ask(key, "high water").Warnings) == 0 })
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
}
