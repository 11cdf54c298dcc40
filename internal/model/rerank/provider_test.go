package rerank_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/model/rerank"
	"github.com/magpie-search/magpie/internal/testkit/cloudkeys"
)

// A standIn has the documented protocol of a provider, for the passages "a" and "b" and the question "q".
type standIn struct {
	cfg                  rerank.Config
	path, authorization  string
	body, answer, refuse string
}

func standIns() map[string]standIn {
	const results = `{"id":"1","results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.2}],"meta":{}}`
	return map[string]standIn{
		"cohere": {rerank.Config{Form: rerank.FormCohere, Model: "rerank-v3.5"}, "/rerank", "Bearer " + secretKey,
			`{"model":"rerank-v3.5","query":"q","documents":["a","b"],"top_n":2}`, results, `{"message":"You are using a Trial key: a b"}`},
		"voyage": {rerank.Config{Form: rerank.FormVoyage, Model: "rerank-2.5"}, "/rerank", "Bearer " + secretKey,
			`{"model":"rerank-2.5","query":"q","documents":["a","b"],"top_k":2,"return_documents":false,"truncation":true}`,
			`{"object":"list","data":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.2}],"model":"rerank-2.5","usage":{"total_tokens":4}}`, `{"detail":"rate limit"}`},
		"jina and vllm": {rerank.Config{Form: rerank.FormDocuments, Model: "jina-reranker-v2"}, "/rerank", "Bearer " + secretKey,
			`{"model":"jina-reranker-v2","query":"q","documents":["a","b"],"top_n":2,"return_documents":false}`, results, `{"detail":"rate limit"}`},
		"tei": {rerank.Config{Form: rerank.FormTexts}, "/rerank", "Bearer " + secretKey,
			`{"query":"q","texts":["a","b"],"raw_scores":false,"truncate":true}`, `[{"index":1,"score":0.9},{"index":0,"score":0.2}]`, `{"error":"Model is overloaded","error_type":"Overloaded"}`},
		"vertex": {rerank.Config{Form: rerank.FormVertex, Model: "semantic-ranker-default@latest", Project: "p-1"},
			"/v1/projects/p-1/locations/global/rankingConfigs/default_ranking_config:rank", "Bearer " + cloudkeys.Token,
			`{"model":"semantic-ranker-default@latest","query":"q","records":[{"id":"0","content":"a"},{"id":"1","content":"b"}],"topN":2,"ignoreRecordDetailsInResponse":true}`,
			`{"records":[{"id":"1","score":0.9},{"id":"0","score":0.2}]}`, `{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED"}}`},
		"bedrock cohere": {rerank.Config{Form: rerank.FormBedrock, Model: "cohere.rerank-v3-5:0", Region: "eu-central-1"},
			"/model/cohere.rerank-v3-5%3A0/invoke", "AWS4-HMAC-SHA256 Credential=" + cloudkeys.AccessKey + "/",
			`{"query":"q","documents":["a","b"],"top_n":2,"api_version":2}`, `{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.2}]}`, `{"message":"Too many requests: a b"}`},
		"bedrock amazon": {rerank.Config{Form: rerank.FormBedrock, Model: "amazon.rerank-v1:0", Region: "eu-central-1"},
			"/model/amazon.rerank-v1%3A0/invoke", "AWS4-HMAC-SHA256 Credential=" + cloudkeys.AccessKey + "/",
			`{"query":"q","documents":["a","b"],"top_n":2}`, `{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.2}]}`, `{"message":"Too many requests: a b"}`},
	}
}

func TestEveryProviderIsAskedAsDocumented(t *testing.T) {
	t.Parallel()
	for name, s := range standIns() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := []int{http.StatusTooManyRequests, http.StatusOK, http.StatusUnauthorized}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got := r.URL.RequestURI(); r.Method != http.MethodPost || got != s.path {
					t.Errorf("%s %s, want %s", r.Method, got, s.path)
				}
				if got := r.Header.Get("Authorization"); !strings.HasPrefix(got, s.authorization) || strings.HasPrefix(got, "AWS4") && !strings.Contains(got, "/eu-central-1/bedrock/aws4_request") {
					t.Errorf("authorization %q", got)
				}
				var got, want map[string]any
				if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
					t.Errorf("the body is no JSON: %v", err)
				}
				if err := json.Unmarshal([]byte(s.body), &want); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("the body is %v, want %v", got, want)
				}
				now := status[0]
				status = status[1:]
				w.Header().Set("Content-Type", "application/json")
				if now != http.StatusOK {
					w.Header().Set("Retry-After", "2")
					w.Header().Set("X-Amzn-Errortype", map[int]string{429: "ThrottlingException", 401: "UnrecognizedClientException"}[now])
					w.WriteHeader(now)
					_, _ = io.WriteString(w, s.refuse)
					return
				}
				_, _ = io.WriteString(w, s.answer)
			}))
			t.Cleanup(server.Close)
			var waited time.Duration
			s.cfg.BaseURL = server.URL
			s.cfg.Sleep = func(_ context.Context, d time.Duration) error {
				waited = d
				return nil
			}
			client := open(t, s.cfg)
			scores, err := client.Rerank(t.Context(), "q", []string{"a", "b"})
			if err != nil || !slices.Equal(scores, []float64{0.2, 0.9}) || waited != 2*time.Second {
				t.Errorf("scores %v after %v, error %v", scores, waited, err)
			}
			if _, err := client.Rerank(t.Context(), "q", []string{"a", "b"}); !provider.IsKind(err, provider.KindAuth) || strings.Contains(err.Error(), "a b") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestSettingsOfProvidersAreChecked(t *testing.T) {
	t.Parallel()
	for _, cfg := range []rerank.Config{
		{Form: rerank.FormCohere}, {Form: rerank.FormVertex, Model: "m"}, {Form: rerank.FormBedrock, Model: "m"}, {Form: rerank.FormDocuments, Model: "m"},
	} {
		if _, err := rerank.New(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
	for _, form := range []rerank.Form{rerank.FormCohere, rerank.FormVoyage, rerank.FormVertex, rerank.FormBedrock} {
		client, err := rerank.New(rerank.Config{Form: form, Model: "m", Project: "p", Region: "eu-central-1"})
		if err != nil {
			t.Fatal(err)
		}
		client.Close()
	}
}
