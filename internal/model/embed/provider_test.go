package embed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/embed/embedtest"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/testkit/cloudkeys"
)

// A standIn is a server with the documented protocol of a provider: it checks the request and gives vectors that depend on
// the length of the texts.
type standIn struct {
	path string // with the query
	// header are headers that every request must have.
	header map[string]string
	// texts takes the texts out of a body, and answer writes the vectors of them.
	texts  func(body map[string]any) []any
	answer func(vectors []string) string
	// tooMany and refused are documented errors, of a rate limit and of a wrong key.
	tooMany, refused string
	// want are the bodies of a passage and of a question, without the texts, for a model of three dimensions.
	passage, question string
	open              func(cfg embed.Config) (*embed.Remote, error)
}

// openaiForm are the parts that providers with the protocol of OpenAI have in common.
func openaiForm(s standIn) standIn {
	s.texts = func(body map[string]any) []any { return body["input"].([]any) }
	s.answer = func(vectors []string) string {
		for i, vector := range vectors {
			vectors[i] = fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, i, vector)
		}
		return `{"object":"list","data":[` + strings.Join(vectors, ",") + `],"model":"m","usage":{"total_tokens":1}}`
	}
	return s
}

// vertexForm are the parts that the models of Vertex AI have in common.
func vertexForm(s standIn) standIn {
	s.header = map[string]string{"Authorization": "Bearer " + cloudkeys.Token}
	s.tooMany = `{"error":{"code":429,"message":"Quota exceeded for online_prediction_requests","status":"RESOURCE_EXHAUSTED"}}`
	s.refused = `{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}`
	s.texts = func(body map[string]any) []any {
		var texts []any
		for _, instance := range body["instances"].([]any) {
			texts = append(texts, instance.(map[string]any)["content"])
		}
		return texts
	}
	s.answer = func(vectors []string) string {
		for i, vector := range vectors {
			vectors[i] = `{"embeddings":{"statistics":{"truncated":false,"token_count":3},"values":` + vector + `}}`
		}
		return `{"predictions":[` + strings.Join(vectors, ",") + `]}`
	}
	return s
}

// geminiForm are the parts of models with the method embedContent. Their prefixes are checked and cut off.
func geminiForm(s standIn) standIn {
	s = vertexForm(s)
	s.texts = func(body map[string]any) []any {
		text := partOf(body)["text"].(string)
		for _, prefix := range []string{"task: search result | query: ", "title: none | text: "} {
			if rest, ok := strings.CutPrefix(text, prefix); ok {
				return []any{rest}
			}
		}
		panic("the text has no prefix: " + text)
	}
	s.answer = func(vectors []string) string {
		return `{"embedding":{"values":` + vectors[0] + `},"usageMetadata":{"promptTokenCount":3,"totalTokenCount":3},"truncated":false}`
	}
	return s
}

func partOf(body map[string]any) map[string]any {
	return body["content"].(map[string]any)["parts"].([]any)[0].(map[string]any)
}

// bedrockForm are the parts that the models of Bedrock have in common.
func bedrockForm(s standIn) standIn {
	s.header = map[string]string{
		"Authorization": "AWS4-HMAC-SHA256 Credential=" + cloudkeys.AccessKey + "/", "X-Amz-Date": "20", "Content-Type": "application/json", "Accept": "application/json",
	}
	s.tooMany, s.refused = `{"message":"Too many requests, please wait before trying again."}`, `{"message":"The security token included in the request is invalid."}`
	return s
}

func standIns() map[string]standIn {
	bearer := map[string]string{"Authorization": "Bearer " + key}
	return map[string]standIn{
		"openai": openaiForm(standIn{
			path: "/v1/embeddings", header: bearer,
			passage:  `{"model":"text-embedding-3-small","encoding_format":"float","dimensions":3}`,
			question: `{"model":"text-embedding-3-small","encoding_format":"float","dimensions":3}`,
			tooMany:  `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`,
			refused:  `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`,
			open: func(cfg embed.Config) (*embed.Remote, error) {
				cfg.BaseURL, cfg.Model = cfg.BaseURL+"/v1", "text-embedding-3-small"
				return embed.NewOpenAI(cfg)
			},
		}),
		"azure": openaiForm(standIn{
			path: "/openai/deployments/vectors/embeddings?api-version=2024-10-21", header: map[string]string{"Api-Key": key},
			passage:  `{"model":"text-embedding-3-large","encoding_format":"float","dimensions":3}`,
			question: `{"model":"text-embedding-3-large","encoding_format":"float","dimensions":3}`,
			tooMany:  `{"error":{"code":"429","message":"Requests have exceeded call rate limit"}}`,
			refused:  `{"error":{"code":"401","message":"Access denied due to invalid subscription key"}}`,
			open: func(cfg embed.Config) (*embed.Remote, error) {
				cfg.Model = "text-embedding-3-large"
				return embed.NewAzure(cfg, "vectors", "2024-10-21")
			},
		}),
		"voyage": openaiForm(standIn{
			path: "/v1/embeddings", header: bearer,
			passage:  `{"model":"voyage-3.5","input_type":"document","truncation":true,"output_dimension":3}`,
			question: `{"model":"voyage-3.5","input_type":"query","truncation":true,"output_dimension":3}`,
			tooMany:  `{"detail":"You have exceeded the rate limit"}`,
			refused:  `{"detail":"Provided API key is invalid."}`,
			open: func(cfg embed.Config) (*embed.Remote, error) {
				cfg.BaseURL, cfg.Model = cfg.BaseURL+"/v1", "voyage-3.5"
				return embed.NewVoyage(cfg)
			},
		}),
		"cohere": {
			path: "/v2/embed", header: bearer,
			passage:  `{"model":"embed-v4.0","input_type":"search_document","embedding_types":["float"],"truncate":"END","output_dimension":3}`,
			question: `{"model":"embed-v4.0","input_type":"search_query","embedding_types":["float"],"truncate":"END","output_dimension":3}`,
			tooMany:  `{"message":"You are using a Trial key, which is limited to 40 API calls / minute"}`,
			refused:  `{"message":"invalid api token"}`,
			texts:    func(body map[string]any) []any { return body["texts"].([]any) },
			answer: func(vectors []string) string {
				return `{"id":"1","embeddings":{"float":[` + strings.Join(vectors, ",") + `]},"texts":[],"meta":{"api_version":{"version":"2"}}}`
			},
			open: func(cfg embed.Config) (*embed.Remote, error) {
				cfg.BaseURL, cfg.Model = cfg.BaseURL+"/v2", "embed-v4.0"
				return embed.NewCohere(cfg)
			},
		},
		"tei": {
			path: "/embed", header: bearer,
			passage: `{"truncate":true,"normalize":true}`, question: `{"truncate":true,"normalize":true}`,
			tooMany: `{"error":"Model is overloaded","error_type":"Overloaded"}`,
			refused: `{"error":"Unauthorized","error_type":"Validation"}`,
			texts:   func(body map[string]any) []any { return body["inputs"].([]any) },
			answer:  func(vectors []string) string { return "[" + strings.Join(vectors, ",") + "]" },
			open: func(cfg embed.Config) (*embed.Remote, error) {
				cfg.Model = "bge-m3"
				return embed.NewTEI(cfg)
			},
		},
		"vertex": vertexForm(standIn{
			path:     "/v1/projects/p-1/locations/europe-west4/publishers/google/models/text-multilingual-embedding-002:predict",
			passage:  `{"instances":[{"task_type":"RETRIEVAL_DOCUMENT"}],"parameters":{"autoTruncate":true,"outputDimensionality":3}}`,
			question: `{"instances":[{"task_type":"RETRIEVAL_QUERY"}],"parameters":{"autoTruncate":true,"outputDimensionality":3}}`,
			open: func(cfg embed.Config) (*embed.Remote, error) {
				cfg.Model = "text-multilingual-embedding-002"
				return embed.NewVertex(cfg, "p-1", "europe-west4")
			},
		}),
		"vertex gemini": vertexForm(standIn{
			path:     "/v1/projects/p-1/locations/europe-west4/publishers/google/models/gemini-embedding-001:predict",
			passage:  `{"instances":[{"task_type":"RETRIEVAL_DOCUMENT"}],"parameters":{"autoTruncate":true,"outputDimensionality":3}}`,
			question: `{"instances":[{"task_type":"RETRIEVAL_QUERY"}],"parameters":{"autoTruncate":true,"outputDimensionality":3}}`,
			open: func(cfg embed.Config) (*embed.Remote, error) {
				cfg.Model = "gemini-embedding-001"
				return embed.NewVertex(cfg, "p-1", "europe-west4")
			},
		}),
		"vertex gemini 2": geminiForm(standIn{
			path:     "/v1/projects/p-1/locations/global/publishers/google/models/gemini-embedding-2:embedContent",
			passage:  `{"content":{"parts":[{}]},"autoTruncate":true,"outputDimensionality":3}`,
			question: `{"content":{"parts":[{}]},"autoTruncate":true,"outputDimensionality":3}`,
			open: func(cfg embed.Config) (*embed.Remote, error) {
				cfg.Model = "gemini-embedding-2"
				return embed.NewVertex(cfg, "p-1", "global")
			},
		}),
		"bedrock titan": bedrockForm(standIn{
			path:    "/model/amazon.titan-embed-text-v2%3A0/invoke",
			passage: `{"dimensions":3}`, question: `{"dimensions":3}`,
			texts:  func(body map[string]any) []any { return []any{body["inputText"]} },
			answer: func(vectors []string) string { return `{"embedding":` + vectors[0] + `,"inputTextTokenCount":3}` },
			open: func(cfg embed.Config) (*embed.Remote, error) {
				cfg.Model = "amazon.titan-embed-text-v2:0"
				return embed.NewBedrock(cfg, "eu-central-1")
			},
		}),
		"bedrock cohere": bedrockForm(standIn{
			path:     "/model/cohere.embed-multilingual-v3/invoke",
			passage:  `{"input_type":"search_document","embedding_types":["float"],"truncate":"END"}`,
			question: `{"input_type":"search_query","embedding_types":["float"],"truncate":"END"}`,
			texts:    func(body map[string]any) []any { return body["texts"].([]any) },
			answer: func(vectors []string) string {
				return `{"id":"1","response_type":"embeddings_by_type","embeddings":{"float":[` + strings.Join(vectors, ",") + `]}}`
			},
			open: func(cfg embed.Config) (*embed.Remote, error) {
				cfg.Model = "cohere.embed-multilingual-v3"
				return embed.NewBedrock(cfg, "eu-central-1")
			},
		}),
		"bedrock cohere 4": bedrockForm(standIn{
			path:     "/model/eu.cohere.embed-v4%3A0/invoke",
			passage:  `{"input_type":"search_document","embedding_types":["float"],"truncate":"RIGHT","output_dimension":3}`,
			question: `{"input_type":"search_query","embedding_types":["float"],"truncate":"RIGHT","output_dimension":3}`,
			texts:    func(body map[string]any) []any { return body["texts"].([]any) },
			answer: func(vectors []string) string {
				return `{"id":"1","response_type":"embeddings_by_type","embeddings":{"float":[` + strings.Join(vectors, ",") + `]}}`
			},
			open: func(cfg embed.Config) (*embed.Remote, error) {
				cfg.Model = "eu.cohere.embed-v4:0"
				return embed.NewBedrock(cfg, "eu-central-1")
			},
		}),
		"ollama": openaiForm(standIn{
			path:     "/v1/embeddings",
			passage:  `{"model":"nomic-embed-text","encoding_format":"float"}`,
			question: `{"model":"nomic-embed-text","encoding_format":"float"}`,
			tooMany:  `{"error":{"message":"server busy, please try again","type":"api_error","param":null,"code":null}}`,
			refused:  `{"error":{"message":"unauthorized","type":"api_error","param":null,"code":null}}`,
			open: func(cfg embed.Config) (*embed.Remote, error) {
				cfg.BaseURL, cfg.Model = cfg.BaseURL+"/v1", "nomic-embed-text"
				return embed.NewOllama(cfg)
			},
		}),
	}
}

// A running stand-in has the errors that it gives first, and the bodies that it got.
type running struct {
	standIn
	t *testing.T

	mu     sync.Mutex
	status []int
	bodies []map[string]any
}

func (r *running) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if got := request.URL.RequestURI(); request.Method != http.MethodPost || got != r.path {
		r.t.Errorf("%s %s, want POST %s", request.Method, got, r.path)
	}
	for name, want := range r.header {
		if got := request.Header.Get(name); !strings.HasPrefix(got, want) {
			r.t.Errorf("the header %s is %q, want %q", name, got, want)
		}
	}
	if signature := request.Header.Get("Authorization"); strings.HasPrefix(signature, "AWS4") && !strings.Contains(signature, "/eu-central-1/bedrock/aws4_request, SignedHeaders=") {
		r.t.Errorf("the signature is %s", signature)
	}
	var body map[string]any
	if err := json.NewDecoder(request.Body).Decode(&body); err != nil {
		r.t.Errorf("the body is no JSON: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, body)
	if len(r.status) > 0 {
		status, text := r.status[0], r.refused
		r.status = r.status[1:]
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "7")
			text = r.tooMany
		}
		if strings.HasSuffix(r.path, "/invoke") {
			w.Header().Set("X-Amzn-Errortype", map[int]string{429: "ThrottlingException", 401: "UnrecognizedClientException"}[status])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
		return
	}
	var vectors []string
	for _, text := range r.texts(body) {
		vectors = append(vectors, fmt.Sprintf("[%d,2,1]", len(text.(string))))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, r.answer(vectors))
}

func start(t *testing.T, s standIn, change func(*embed.Config), status ...int) (*embed.Remote, *running) {
	t.Helper()
	r := &running{standIn: s, t: t, status: status}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	cfg := embed.Config{BaseURL: server.URL, Key: key, Dimensions: 3, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	if change != nil {
		change(&cfg)
	}
	model, err := s.open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	return model, r
}

func TestEveryProviderKeepsTheContract(t *testing.T) {
	t.Parallel()
	for name, s := range standIns() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, _ := start(t, s, nil)
			embedtest.Run(t, model)
		})
	}
}

func TestEveryProviderGetsItsDocumentedRequest(t *testing.T) {
	t.Parallel()
	for name, s := range standIns() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, r := start(t, s, nil)
			for purpose, want := range map[embed.Purpose]string{embed.Passage: s.passage, embed.Query: s.question} {
				r.bodies = nil
				if _, err := model.Embed(t.Context(), []string{"a text"}, purpose); err != nil {
					t.Fatal(err)
				}
				var fields map[string]any
				if err := json.Unmarshal([]byte(want), &fields); err != nil {
					t.Fatal(err)
				}
				got := r.bodies[0]
				texts := s.texts(got)
				if len(texts) != 1 || texts[0] != "a text" {
					t.Errorf("texts %v", texts)
				}
				if instances, ok := got["instances"].([]any); ok {
					delete(instances[0].(map[string]any), "content")
				}
				if _, ok := got["content"]; ok {
					delete(partOf(got), "text")
				}
				for _, of := range []string{"input", "texts", "inputs", "inputText"} {
					delete(got, of)
				}
				if !reflect.DeepEqual(got, fields) {
					t.Errorf("the body without texts is %v, want %v", got, fields)
				}
			}
		})
	}
}

func TestEveryProviderIsRetriedAfterARateLimit(t *testing.T) {
	t.Parallel()
	for name, s := range standIns() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var waited []time.Duration
			model, r := start(t, s, func(cfg *embed.Config) {
				cfg.Sleep = func(_ context.Context, d time.Duration) error {
					waited = append(waited, d)
					return nil
				}
			}, http.StatusTooManyRequests)
			if _, err := model.Embed(t.Context(), []string{"a"}, embed.Passage); err != nil {
				t.Fatal(err)
			}
			if want := []time.Duration{7 * time.Second}; !slices.Equal(waited, want) || len(r.bodies) != 2 {
				t.Errorf("waited %v in %d requests, want %v", waited, len(r.bodies), want)
			}
		})
	}
}

func TestEveryProvidersRefusalIsUnderstood(t *testing.T) {
	t.Parallel()
	for name, s := range standIns() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for status, kind := range map[int]provider.Kind{http.StatusUnauthorized: provider.KindAuth, http.StatusTooManyRequests: provider.KindRateLimited} {
				model, r := start(t, s, func(cfg *embed.Config) { cfg.Tries = 1 }, status)
				_, err := model.Embed(t.Context(), []string{"a"}, embed.Passage)
				said := messageOf(t, map[bool]string{true: s.tooMany, false: s.refused}[status == http.StatusTooManyRequests])
				if !provider.IsKind(err, kind) || !strings.Contains(err.Error(), said) || strings.Contains(err.Error(), key) || len(r.bodies) != 1 {
					t.Errorf("%d: error %v after %d requests, want the kind %s and %q", status, err, len(r.bodies), kind, said)
				}
			}
		})
	}
}

// messageOf returns the only sentence of a documented error.
func messageOf(t *testing.T, body string) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		t.Fatal(err)
	}
	if inner, ok := fields["error"].(map[string]any); ok {
		fields = inner
	}
	for _, name := range []string{"message", "detail", "error", "Message"} {
		if text, ok := fields[name].(string); ok {
			return text
		}
	}
	t.Fatalf("no message in %s", body)
	return ""
}

func TestAnotherLengthSaysWhatToSet(t *testing.T) {
	t.Parallel()
	for name, s := range standIns() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, _ := start(t, s, func(cfg *embed.Config) { cfg.Dimensions = 4 })
			_, err := model.Embed(t.Context(), []string{"a"}, embed.Passage)
			if said := embed.Explain(err, false); !strings.Contains(said, "3 dimensions, but its setting says 4: set dimensions (EMBEDDING_DIMENSIONS) to 3") {
				t.Errorf("%v: %s", err, said)
			}
			if err := embed.Probe(t.Context(), model); err == nil {
				t.Error("a probe accepts it")
			}
		})
	}
}

func TestDimensionsAreSentAsSet(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"openai": "dimensions", "azure": "dimensions", "voyage": "output_dimension", "ollama": "dimensions", "cohere": "output_dimension", "tei": "dimensions", "bedrock titan": "dimensions",
	} {
		for _, send := range []bool{true, false} {
			model, r := start(t, standIns()[name], func(cfg *embed.Config) { cfg.SendDimensions = &send })
			if err := embed.Probe(t.Context(), model); err != nil {
				t.Fatal(err)
			}
			if _, sent := r.bodies[0][want]; sent != send {
				t.Errorf("%s with %v: %v", name, send, r.bodies[0])
			}
		}
	}
}

func TestABatchIsNoLargerThanTheProviderTakes(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{"cohere": 96, "bedrock cohere": 96, "bedrock cohere 4": 96, "voyage": 1000, "vertex": 250} {
		for batch, valid := range map[int]bool{most: true, most + 1: false} {
			model, err := standIns()[name].open(embed.Config{BaseURL: "http://127.0.0.1:1", Key: key, Dimensions: 3, Batch: batch})
			if valid != (err == nil) || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("batch is %d, but a request may have at most %d texts", batch, most)) {
				t.Errorf("%s with %d: %v", name, batch, err)
			}
			if model != nil {
				model.Close()
			}
		}
	}
}
