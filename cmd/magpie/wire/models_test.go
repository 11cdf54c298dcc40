package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/model/rerank"
	"github.com/magpie-search/magpie/internal/testkit/cloudkeys"
)

const modelKey = "key-of-the-provider"

// A sent is a request of a client of a model, in short: for AWS the signature is that of a
// key and a region.
type sent struct{ Path, Auth, Body string }

// A modelServer keeps the requests, and refuses them.
type modelServer struct {
	url    string
	status int // 400 by default
	after  string
	hangs  bool

	mu  sync.Mutex
	got []sent
}

func newModelServer(t *testing.T) *modelServer {
	t.Helper()
	s := &modelServer{status: http.StatusBadRequest}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

var signature = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=(\w+)/\d+/([\w-]+)/bedrock/aws4_request, .*`)

// ServeHTTP implements http.Handler.
func (s *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body any
	_ = json.NewDecoder(r.Body).Decode(&body) // what is no JSON differs from what is wanted
	text, _ := json.Marshal(body)             // of JSON
	auth := signature.ReplaceAllString(r.Header.Get("Authorization"), "AWS $1 $2")
	for _, name := range []string{"Api-Key", "X-Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			auth += name + ": " + key
		}
	}
	s.mu.Lock()
	s.got = append(s.got, sent{r.URL.RequestURI(), auth, string(text)})
	s.mu.Unlock()
	if s.hangs {
		<-r.Context().Done()
		return
	}
	if s.after != "" {
		w.Header().Set("Retry-After", s.after)
	}
	w.WriteHeader(s.status)
}

// take returns the requests, and forgets them.
func (s *modelServer) take() (got []sent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got, s.got = s.got, nil
	return got
}

// load returns the settings with a file of models, in which URL is the address of the server.
func (s *modelServer) load(t *testing.T, setting, file string) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "models.json")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(file, "URL", s.url)), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Source{Environment: []string{setting + "=" + path, "KEY=" + modelKey}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func closed(t *testing.T, closeAll func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := closeAll(); err != nil {
			t.Error(err)
		}
	})
}

func (s *modelServer) embedders(t *testing.T, file string) *embed.Registry {
	t.Helper()
	models, closeAll, err := wire.Embedders(s.load(t, "EMBEDDING_CONFIG", file), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeAll)
	return models
}

const embeddingFile = `[
	{"name": "openai", "provider": "openai", "base_url": "URL/v1", "api_key_env": "KEY", "model": "m-1", "dimensions": 3, "send_dimensions": true, "query_prefix": "q: ", "passage_prefix": "p: ", "batch": 2},
	{"name": "azure", "provider": "azure", "base_url": "URL", "api_key_env": "KEY", "model": "text-embedding-3-large", "deployment": "d-1", "api_version": "v-1", "dimensions": 4, "batch": 2},
	{"name": "ollama", "provider": "ollama", "base_url": "URL/v1", "api_key_env": "KEY", "dimensions": 3},
	{"name": "voyage", "provider": "voyage", "base_url": "URL/v1", "api_key_env": "KEY", "model": "voyage-3.5", "dimensions": 5, "send_dimensions": false},
	{"name": "cohere", "provider": "cohere", "base_url": "URL/v2", "api_key_env": "KEY", "model": "embed-v4.0", "dimensions": 6},
	{"name": "tei", "provider": "tei", "base_url": "URL", "api_key_env": "KEY", "dimensions": 3, "query_prefix": "q: ", "passage_prefix": "p: "},
	{"name": "bedrock", "provider": "bedrock", "base_url": "URL", "region": "eu-central-1", "model": "amazon.titan-embed-text-v2:0", "dimensions": 7},
	{"name": "vertex", "provider": "vertex", "base_url": "URL", "project": "p-1", "location": "europe-west4", "model": "text-embedding-005", "dimensions": 8, "batch": 2}
]`

// Each provider of EMBEDDING_CONFIG has a client of its own, with all that the file says.
func TestAProviderOpensItsEmbeddingModel(t *testing.T) {
	t.Parallel()
	s := newModelServer(t)
	models := s.embedders(t, embeddingFile)
	bearer := "Bearer " + modelKey
	wants := map[string]sent{
		"openai": {"/v1/embeddings", bearer, `{"dimensions":3,"encoding_format":"float","input":["q: a","q: b"],"model":"m-1"}`},
		"azure":  {"/openai/deployments/d-1/embeddings?api-version=v-1", "Api-Key: " + modelKey, `{"dimensions":4,"encoding_format":"float","input":["a","b"],"model":"text-embedding-3-large"}`},
		"ollama": {"/v1/embeddings", bearer, `{"encoding_format":"float","input":["a","b"],"model":"ollama"}`},
		"voyage": {"/v1/embeddings", bearer, `{"input":["a","b"],"input_type":"query","model":"voyage-3.5","truncation":true}`},
		"cohere": {"/v2/embed", bearer, `{"embedding_types":["float"],"input_type":"search_query","model":"embed-v4.0","output_dimension":6,"texts":["a","b"],"truncate":"END"}`},
		"tei":    {"/embed", bearer, `{"inputs":["q: a","q: b"],"normalize":true,"truncate":true}`},
		"bedrock": {"/model/amazon.titan-embed-text-v2%3A0/invoke", "AWS " + cloudkeys.AccessKey + " eu-central-1",
			`{"dimensions":7,"inputText":"a"}`},
		"vertex": {"/v1/projects/p-1/locations/europe-west4/publishers/google/models/text-embedding-005:predict", "Bearer " + cloudkeys.Token,
			`{"instances":[{"content":"a","task_type":"RETRIEVAL_QUERY"},{"content":"b","task_type":"RETRIEVAL_QUERY"}],"parameters":{"autoTruncate":true,"outputDimensionality":8}}`},
	}
	if got := models.Names(); len(got) != len(wants)+1 || got[0] != "openai" || got[len(got)-1] != embed.BuiltinModel {
		t.Errorf("models %v", got)
	}
	for name, want := range wants {
		model, _ := models.Lookup(name)
		texts := []string{"a", "b"}
		if name == "bedrock" {
			texts = texts[:1] // Titan takes one
		}
		if _, err := model.Embed(t.Context(), texts, embed.Query); !provider.IsKind(err, provider.KindInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff([]sent{want}, s.take()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// The batch of the file bounds a request, and passages have a prefix of their own.
	for name, want := range map[string]string{"openai": `"input":["p: a"]`, "tei": `"inputs":["p: a"]`} {
		model, _ := models.Lookup(name)
		_, _ = model.Embed(t.Context(), []string{"a"}, embed.Passage)
		if got := s.take(); len(got) != 1 || !strings.Contains(got[0].Body, want) {
			t.Errorf("%s: a passage is sent as %v", name, got)
		}
	}
	for name, most := range map[string]int{"openai": 2, "azure": 2, "vertex": 2, "tei": 32} {
		model, _ := models.Lookup(name)
		_, _ = model.Embed(t.Context(), slices.Repeat([]string{"x"}, most+1), embed.Passage)
		if got := strings.Count(s.take()[0].Body, `x"`); got != most {
			t.Errorf("%s: %d texts in a request, want %d", name, got, most)
		}
	}
}

const chatFile = `[
	{"name": "openai", "provider": "openai", "base_url": "URL/v1", "api_key_env": "KEY", "model": "m-1", "context_window": 5000, "max_output_tokens": 50},
	{"name": "anthropic", "provider": "anthropic", "base_url": "URL", "api_key_env": "KEY", "model": "claude-x", "max_output_tokens": 51},
	{"name": "azure", "provider": "azure", "base_url": "URL", "api_key_env": "KEY", "model": "m-2", "deployment": "d-1", "api_version": "v-1", "max_output_tokens": 52},
	{"name": "ollama", "provider": "ollama", "base_url": "URL/v1", "api_key_env": "KEY", "max_output_tokens": 53},
	{"name": "cohere", "provider": "cohere", "base_url": "URL/v1", "api_key_env": "KEY", "model": "command-a", "max_output_tokens": 54},
	{"name": "bedrock", "provider": "bedrock", "base_url": "URL", "region": "eu-central-1", "model": "amazon.nova-lite-v1:0", "max_output_tokens": 55},
	{"name": "vertex", "provider": "vertex", "base_url": "URL", "project": "p-1", "location": "europe-west4", "model": "google/gemini-2.5-flash", "max_output_tokens": 56},
	{"name": "chain", "provider": "openai", "base_url": "URL/v1", "api_key_env": "KEY", "model": "m-3", "fallback": ["openai", "azure"]}
]`

// ask asks a chat model, and returns its error.
func ask(t *testing.T, models *llm.Models, name string) (failure error) {
	t.Helper()
	model, found := models.Lookup(name)
	if !found {
		t.Fatalf("there is no model %s", name)
	}
	request := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "hello"}}, MaxTokens: 100, Temperature: 0.5}
	for _, err := range model.Stream(t.Context(), request) {
		failure = errors.Join(failure, err)
	}
	return failure
}

// Each provider of LLM_CONFIG has a client of its own, with all that the file says.
func TestAProviderOpensItsChatModel(t *testing.T) {
	t.Parallel()
	s := newModelServer(t)
	models, closeAll, err := wire.ChatModels(s.load(t, "LLM_CONFIG", chatFile))
	if err != nil {
		t.Fatal(err)
	}
	closed(t, closeAll)
	bearer := "Bearer " + modelKey
	openai := func(model string, tokens int, more string) string {
		return fmt.Sprintf(`{"max_tokens":%d,"messages":[{"content":"hello","role":"user"}],"model":%q,"stream":true%s,"temperature":0.5}`, tokens, model, more)
	}
	const usage = `,"stream_options":{"include_usage":true}`
	for name, want := range map[string]sent{
		"openai": {"/v1/chat/completions", bearer, openai("m-1", 50, usage)},
		"anthropic": {"/v1/messages", "X-Api-Key: " + modelKey,
			`{"max_tokens":51,"messages":[{"content":[{"text":"hello","type":"text"}],"role":"user"}],"model":"claude-x","stream":true,"temperature":0.5}`},
		"azure":  {"/openai/deployments/d-1/chat/completions?api-version=v-1", "Api-Key: " + modelKey, openai("m-2", 52, usage)},
		"ollama": {"/v1/chat/completions", bearer, openai("ollama", 53, usage)},
		"cohere": {"/v1/chat/completions", bearer, openai("command-a", 54, "")},
		"bedrock": {"/model/amazon.nova-lite-v1%3A0/converse-stream", "AWS " + cloudkeys.AccessKey + " eu-central-1",
			`{"inferenceConfig":{"maxTokens":55,"temperature":0.5},"messages":[{"content":[{"text":"hello"}],"role":"user"}]}`},
		"vertex": {"/v1/projects/p-1/locations/europe-west4/endpoints/openapi/chat/completions", "Bearer " + cloudkeys.Token, openai("google/gemini-2.5-flash", 56, usage)},
	} {
		if err := ask(t, models, name); err == nil {
			t.Errorf("%s: a refused request succeeded", name)
		}
		if diff := cmp.Diff([]sent{want}, s.take()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if model, _ := models.Lookup("openai"); llm.LimitsOf(model).ContextWindow != 5000 {
		t.Errorf("limits %+v", llm.LimitsOf(model))
	}
	if err := ask(t, models, "chain"); err == nil {
		t.Error("a chain of refused requests succeeded")
	}
	var asked []string
	for _, request := range s.take() {
		asked = append(asked, regexp.MustCompile(`"model":"([^"]*)"`).FindStringSubmatch(request.Body)[1])
	}
	if !slices.Equal(asked, []string{"m-3", "m-1", "m-2"}) {
		t.Errorf("the models asked are %v", asked)
	}
}

// RERANK_PROVIDER decides the client and its form.
func TestAProviderOpensItsReranker(t *testing.T) {
	t.Parallel()
	bearer := "Bearer " + modelKey
	const documents = `{"documents":["a","b"],"model":"m-1","query":"q","return_documents":false,"top_n":2}`
	for name, want := range map[string]sent{
		"bedrock": {"/model/m-1/invoke", "AWS " + cloudkeys.AccessKey + " eu-central-1", `{"documents":["a","b"],"query":"q","top_n":2}`},
		"cohere":  {"/rerank", bearer, `{"documents":["a","b"],"model":"m-1","query":"q","top_n":2}`},
		"jina":    {"/rerank", bearer, documents},
		"vllm":    {"/rerank", bearer, documents},
		"tei":     {"/rerank", bearer, `{"model":"m-1","query":"q","raw_scores":false,"texts":["a","b"],"truncate":true}`},
		"vertex": {"/v1/projects/p-1/locations/global/rankingConfigs/default_ranking_config:rank", "Bearer " + cloudkeys.Token,
			`{"ignoreRecordDetailsInResponse":true,"model":"m-1","query":"q","records":[{"content":"a","id":"0"},{"content":"b","id":"1"}],"topN":2}`},
		"voyage": {"/rerank", bearer, `{"documents":["a","b"],"model":"m-1","query":"q","return_documents":false,"top_k":2,"truncation":true}`},
		"":       {"/rerank", bearer, documents},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newModelServer(t)
			model := s.reranker(t, "RERANK_PROVIDER="+name, "RERANK_MODEL=m-1", "RERANK_TIMEOUT=20s")
			if _, err := model.Rerank(t.Context(), "q", []string{"a", "b"}); err == nil {
				t.Error("a refused request succeeded")
			}
			if diff := cmp.Diff([]sent{want}, s.take()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func (s *modelServer) reranker(t *testing.T, environment ...string) rerank.Reranker {
	t.Helper()
	c, err := config.Load(config.Source{Environment: append(environment,
		"RERANK_BASE_URL="+s.url, "RERANK_API_KEY="+modelKey, "RERANK_REGION=eu-central-1", "RERANK_PROJECT=p-1")})
	if err != nil {
		t.Fatal(err)
	}
	model, closeAll, err := wire.Reranker(c)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, closeAll)
	return model
}

// The timeouts of the settings reach the clients.
func TestTheTimeoutsOfModelsAreThoseOfTheSettings(t *testing.T) {
	t.Parallel()
	const entry = `[{"name": "m", "provider": "openai", "base_url": "URL/v1", "dimensions": 3, "timeouts": {%s}}]`
	hanging, busy := newModelServer(t), newModelServer(t)
	hanging.hangs, busy.status, busy.after = true, http.StatusTooManyRequests, "20"
	chat := func(s *modelServer, timeout string) error {
		models, closeAll, err := wire.ChatModels(s.load(t, "LLM_CONFIG", strings.Replace(fmt.Sprintf(entry, timeout), `"dimensions": 3, `, "", 1)))
		if err != nil {
			t.Fatal(err)
		}
		closed(t, closeAll)
		return ask(t, models, "m")
	}
	vectors := func(s *modelServer, timeout string) error {
		model, _ := s.embedders(t, fmt.Sprintf(entry, timeout)).Lookup("m")
		_, err := model.Embed(t.Context(), []string{"a"}, embed.Query)
		return err
	}
	for name, c := range map[string]struct {
		call func() error
		want provider.Kind
		said string
	}{
		"embedding request":        {func() error { return vectors(hanging, `"request": "50ms", "max_retry_wait": "1ms"`) }, provider.KindTimeout, "50ms"},
		"embedding max_retry_wait": {func() error { return vectors(busy, `"max_retry_wait": "1s"`) }, provider.KindRateLimited, ""},
		"chat first_byte":          {func() error { return chat(hanging, `"first_byte": "50ms", "max_retry_wait": "1ms"`) }, provider.KindTimeout, ""},
		"chat max_retry_wait":      {func() error { return chat(busy, `"max_retry_wait": "1s"`) }, provider.KindRateLimited, ""},
		"RERANK_TIMEOUT": {func() error {
			_, err := hanging.reranker(t, "RERANK_MODEL=m-1", "RERANK_TIMEOUT=50ms").Rerank(t.Context(), "q", []string{"a"})
			return err
		}, provider.KindTimeout, "50ms"},
	} {
		began := time.Now()
		if err := c.call(); !provider.IsKind(err, c.want) || !strings.Contains(err.Error(), c.said) || time.Since(began) > 15*time.Second {
			t.Errorf("%s: %v after %v", name, err, time.Since(began))
		}
	}
}

func TestTheBuiltinEmbeddingModelMayBeTheDefault(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "models.json")
	if err := os.WriteFile(file, []byte(`[{"name": "local", "provider": "ollama", "dimensions": 8}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"": {"local", embed.BuiltinModel}, embed.BuiltinModel: {embed.BuiltinModel, "local"}} {
		c, err := config.Load(config.Source{Environment: []string{"EMBEDDING_CONFIG=" + file, "EMBEDDING_MODEL=" + name}})
		if err != nil {
			t.Fatal(err)
		}
		models, closeAll, err := wire.Embedders(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		closeAll()
		if got := models.Names(); !slices.Equal(got, want) || models.Default().Model() != want[0] {
			t.Errorf("with EMBEDDING_MODEL=%s: %q, want %q", name, got, want)
		}
	}
}
