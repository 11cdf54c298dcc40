package rerank_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/model/rerank"
)

const secretKey = "hunter2-key"

// A request is the body of a request to the service.
type request struct {
	Model           *string  `json:"model"`
	Query           string   `json:"query"`
	Documents       []string `json:"documents"`
	TopN            int      `json:"top_n"`
	ReturnDocuments *bool    `json:"return_documents"`
	Texts           []string `json:"texts"`
	RawScores       *bool    `json:"raw_scores"`
	Truncate        *bool    `json:"truncate"`
}

// serve starts a service and returns its address.
func serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, q request)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q request
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Errorf("read the request: %v", err)
		}
		answer(w, r, q)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func open(t *testing.T, cfg rerank.Config) *rerank.Client {
	t.Helper()
	if cfg.Key == "" {
		cfg.Key = secretKey
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = time.Minute
	}
	client, err := rerank.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func write(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

func TestEveryFormOfResponseIsRead(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"Cohere":           `{"id":"x","results":[{"index":2,"relevance_score":0.9},{"index":0,"relevance_score":0.5},{"index":1,"relevance_score":0.1}],"meta":{"billed_units":{"search_units":1}}}`,
		"Jina":             `{"model":"m","usage":{"total_tokens":9},"results":[{"index":2,"document":{"text":"c"},"relevance_score":0.9},{"index":0,"relevance_score":0.5},{"index":1,"relevance_score":0.1}]}`,
		"Voyage":           `{"object":"list","data":[{"relevance_score":0.9,"index":2},{"relevance_score":0.5,"index":0},{"relevance_score":0.1,"index":1}]}`,
		"texts":            ` [{"index":2,"score":0.9},{"index":0,"score":0.5},{"index":1,"score":0.1}]`,
		"score in results": `{"results":[{"index":0,"score":0.5},{"index":1,"score":0.1},{"index":2,"score":0.9}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serve(t, func(w http.ResponseWriter, r *http.Request, q request) {
				if r.Method != http.MethodPost || r.URL.Path != "/v1/rerank" || r.Header.Get("Authorization") != "Bearer "+secretKey ||
					r.Header.Get("Content-Type") != "application/json" {
					t.Errorf("%s %s %v", r.Method, r.URL.Path, r.Header)
				}
				if q.Model == nil || *q.Model != "judge" || q.Query != "which?" || !slices.Equal(q.Documents, []string{"a", "b", "c"}) ||
					q.TopN != 3 || q.ReturnDocuments == nil || *q.ReturnDocuments || q.Texts != nil {
					t.Errorf("request %+v", q)
				}
				write(w, "%s", answer)
			})
			client := open(t, rerank.Config{BaseURL: address + "/v1/", Model: "judge"})
			scores, err := client.Rerank(t.Context(), "which?", []string{"a", "b", "c"})
			if err != nil || !slices.Equal(scores, []float64{0.5, 0.1, 0.9}) || client.Model() != "judge" {
				t.Errorf("%v %v", scores, err)
			}
		})
	}
}

func TestAServiceWithoutAModelNameReceivesTexts(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	address := serve(t, func(w http.ResponseWriter, _ *http.Request, q request) {
		requests.Add(1)
		if q.Model != nil || q.Documents != nil || len(q.Texts) > 32 || q.RawScores == nil || *q.RawScores || q.Truncate == nil || !*q.Truncate {
			t.Errorf("request %+v", q)
		}
		results := []string{}
		for i, text := range q.Texts {
			results = append(results, fmt.Sprintf(`{"index":%d,"score":0.%s}`, i, text))
		}
		slices.Reverse(results)
		write(w, "[%s]", strings.Join(results, ","))
	})
	client := open(t, rerank.Config{BaseURL: address})
	var passages []string
	for i := range 50 {
		passages = append(passages, fmt.Sprintf("%02d", i))
	}
	scores, err := client.Rerank(t.Context(), "q", passages)
	if err != nil || requests.Load() != 2 || client.Model() == "" {
		t.Fatalf("%v, %d requests", err, requests.Load())
	}
	for i, score := range scores {
		if math.Abs(score-float64(i)/100) > 1e-9 {
			t.Errorf("score %d is %v", i, score)
		}
	}
}

func TestLogitsBecomeProbabilities(t *testing.T) {
	t.Parallel()
	var answer atomic.Value
	address := serve(t, func(w http.ResponseWriter, _ *http.Request, _ request) { write(w, "%s", answer.Load()) })
	client := open(t, rerank.Config{BaseURL: address, Model: "m"})
	rerankThree := func(a, b, c float64) []float64 {
		answer.Store(fmt.Sprintf(`[{"index":0,"score":%v},{"index":1,"score":%v},{"index":2,"score":%v}]`, a, b, c))
		scores, err := client.Rerank(t.Context(), "q", []string{"a", "b", "c"})
		if err != nil {
			t.Fatal(err)
		}
		return scores
	}
	if got := rerankThree(0, 0.25, 1.0000001); !slices.Equal(got, []float64{0, 0.25, 1}) {
		t.Errorf("probabilities were changed: %v", got)
	}
	logits := rerankThree(-11.5, 0.5, 8.25)
	if !slices.IsSorted(logits) || logits[0] < 0 || logits[0] > 0.001 || math.Abs(logits[1]-0.6225) > 0.001 || logits[2] < 0.999 || logits[2] > 1 {
		t.Errorf("logits: %v", logits)
	}
	if again := rerankThree(0.1, 0.5, 0.9); again[1] != logits[1] {
		t.Errorf("the same score of the same service means %v and %v", logits[1], again[1])
	}
	if extreme := rerankThree(-1e300, 0, 1e300); !slices.Equal(extreme, []float64{0, 0.5, 1}) {
		t.Errorf("extremes: %v", extreme)
	}
}

func TestInvalidResponsesAreRefused(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"missing":        `{"results":[{"index":0,"relevance_score":0.5}]}`,
		"too many":       `[{"index":0,"score":1},{"index":1,"score":1},{"index":2,"score":1}]`,
		"repeated":       `[{"index":0,"score":1},{"index":0,"score":1}]`,
		"out of range":   `[{"index":0,"score":1},{"index":2,"score":1}]`,
		"negative":       `[{"index":0,"score":1},{"index":-1,"score":1}]`,
		"without index":  `[{"score":1},{"index":1,"score":1}]`,
		"without score":  `[{"index":0},{"index":1,"score":1}]`,
		"score as text":  `[{"index":0,"score":"secret passage"},{"index":1,"score":1}]`,
		"no number":      `[{"index":0,"score":NaN},{"index":1,"score":1}]`,
		"huge number":    `[{"index":0,"score":1e999},{"index":1,"score":1}]`,
		"another object": `{"error":"secret passage"}`,
		"no JSON":        `secret passage`,
		"nothing":        ``,
		"cut":            `{"results":[{"index":0,`,
		"too long":       strings.Repeat(" ", 5<<20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serve(t, func(w http.ResponseWriter, _ *http.Request, _ request) { write(w, "%s", answer) })
			scores, err := open(t, rerank.Config{BaseURL: address, Model: "m"}).Rerank(t.Context(), "q", []string{"secret passage", "b"})
			if !provider.IsKind(err, provider.KindInvalid) || scores != nil {
				t.Fatalf("%v %v", scores, err)
			}
			checkDiscretion(t, err)
		})
	}
}

func checkDiscretion(t *testing.T, err error) {
	t.Helper()
	for _, text := range []string{"secret passage", secretKey, "secret question"} {
		if strings.Contains(fmt.Sprintf("%v %+v", err, err), text) {
			t.Errorf("the error holds %q: %v", text, err)
		}
	}
}

func TestTemporaryErrorsAreRetriedOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		status     int
		retryAfter string
		requests   int32
		waits      time.Duration
		kind       provider.Kind
	}{
		"rate limit":            {http.StatusTooManyRequests, "", 2, 100 * time.Millisecond, provider.KindRateLimited},
		"rate limit with time":  {http.StatusTooManyRequests, "3", 2, 3 * time.Second, provider.KindRateLimited},
		"rate limit too long":   {http.StatusTooManyRequests, "3600", 1, 0, provider.KindRateLimited},
		"failure":               {http.StatusInternalServerError, "", 2, 100 * time.Millisecond, provider.KindUnavailable},
		"gateway":               {http.StatusBadGateway, "x", 2, 100 * time.Millisecond, provider.KindUnavailable},
		"wrong key":             {http.StatusUnauthorized, "1", 1, 0, provider.KindAuth},
		"wrong request":         {http.StatusUnprocessableEntity, "", 1, 0, provider.KindInvalid},
		"too large":             {http.StatusRequestEntityTooLarge, "", 1, 0, provider.KindContextLength},
		"elsewhere":             {http.StatusTemporaryRedirect, "", 1, 0, provider.KindInvalid},
		"a success of no sense": {http.StatusAccepted, "", 1, 0, provider.KindInvalid},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			var waited atomic.Int64
			address := serve(t, func(w http.ResponseWriter, _ *http.Request, _ request) {
				requests.Add(1)
				w.Header().Set("Location", "http://127.0.0.1:1/rerank")
				if c.retryAfter != "" {
					w.Header().Set("Retry-After", c.retryAfter)
				}
				w.WriteHeader(c.status)
				write(w, `{"message":"secret passage for secret question by %s"}`, secretKey)
			})
			client := open(t, rerank.Config{BaseURL: address, Model: "m", Sleep: func(_ context.Context, d time.Duration) error {
				waited.Add(int64(d))
				return nil
			}})
			_, err := client.Rerank(t.Context(), "secret question", []string{"secret passage"})
			var refused *provider.Error
			if !errors.As(err, &refused) || refused.Kind != c.kind || refused.Status != c.status {
				t.Fatalf("%v", err)
			}
			if requests.Load() != c.requests || time.Duration(waited.Load()) != c.waits {
				t.Errorf("%d requests after waiting %s", requests.Load(), time.Duration(waited.Load()))
			}
			checkDiscretion(t, err)
		})
	}
}

func TestARetryMaySucceed(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	address := serve(t, func(w http.ResponseWriter, _ *http.Request, _ request) {
		if requests.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		write(w, `[{"index":0,"score":0.75}]`)
	})
	scores, err := open(t, rerank.Config{BaseURL: address, Model: "m"}).Rerank(t.Context(), "q", []string{"a"})
	if err != nil || !slices.Equal(scores, []float64{0.75}) || requests.Load() != 2 {
		t.Errorf("%v %v, %d requests", scores, err, requests.Load())
	}
}

func TestASilentServiceTimesOut(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	address := serve(t, func(_ http.ResponseWriter, r *http.Request, _ request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	client := open(t, rerank.Config{BaseURL: address, Timeout: 50 * time.Millisecond})
	_, err := client.Rerank(t.Context(), "secret question", slices.Repeat([]string{"secret passage"}, 40))
	if !provider.IsKind(err, provider.KindTimeout) {
		t.Errorf("%v", err)
	}
	checkDiscretion(t, err)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Rerank(gone, "q", []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that gave up: %v", err)
	}
}

func TestOneFailedBatchFailsTheCall(t *testing.T) {
	t.Parallel()
	address := serve(t, func(w http.ResponseWriter, r *http.Request, q request) {
		if q.Texts[0] == "first" {
			<-r.Context().Done() // never answers: the failure of the other request cancels this one
			return
		}
		w.WriteHeader(http.StatusForbidden)
	})
	client := open(t, rerank.Config{BaseURL: address, Batch: 1})
	if _, err := client.Rerank(t.Context(), "q", []string{"first", "second"}); !provider.IsKind(err, provider.KindAuth) {
		t.Errorf("%v", err)
	}
}

func TestAnUnreachableServiceIsUnavailable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := open(t, rerank.Config{BaseURL: server.URL, Model: "m"}).Rerank(t.Context(), "secret question", []string{"secret passage"})
	if !provider.IsKind(err, provider.KindUnavailable) {
		t.Errorf("%v", err)
	}
	checkDiscretion(t, err)
}

func TestTextsArePreparedForTheService(t *testing.T) {
	t.Parallel()
	address := serve(t, func(w http.ResponseWriter, _ *http.Request, q request) {
		for _, text := range append(q.Documents, q.Query) {
			if utf8.RuneCountInString(text) > 20 || strings.TrimSpace(text) == "" || strings.Contains(text, "\x00") {
				t.Errorf("request with %q", text)
			}
		}
		write(w, `[{"index":0,"score":0.5},{"index":1,"score":0.5},{"index":2,"score":0.5}]`)
	})
	client := open(t, rerank.Config{BaseURL: address, Model: "m", MaxRunes: 20})
	if _, err := client.Rerank(t.Context(), strings.Repeat("長", 100), []string{" \x00 ", strings.Repeat("ü", 50), "a\xffb"}); err != nil {
		t.Error(err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	address := serve(t, func(http.ResponseWriter, *http.Request, request) { t.Error("the service was called") })
	client := open(t, rerank.Config{BaseURL: address, Model: "m"})
	if scores, err := client.Rerank(t.Context(), "q", nil); err != nil || scores == nil || len(scores) != 0 {
		t.Errorf("no passages: %v %v", scores, err)
	}
	if _, err := client.Rerank(t.Context(), "q", make([]string, client.MaxPassages()+1)); !provider.IsKind(err, provider.KindInvalid) {
		t.Errorf("too many passages: %v", err)
	}
}

func TestInvalidSettingsAreNamed(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]rerank.Config{
		"base URL":     {BaseURL: "api.example.com/v1", Model: "m"},
		"model's name": {BaseURL: "http://127.0.0.1:1", Form: rerank.FormDocuments},
	} {
		if _, err := rerank.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about the %s: %v", want, err)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add(`{"results":[{"index":0,"relevance_score":0.5},{"index":1,"relevance_score":-3}]}`)
	f.Add(`[{"index":0,"score":1e308},{"index":1,"score":-1e308}]`)
	f.Add(`{"data":null,"results":[]}`)
	var answer atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w, "%s", answer.Load()) }))
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, text string) {
		answer.Store(text)
		client, err := rerank.New(rerank.Config{BaseURL: server.URL, Model: "m", Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		scores, err := client.Rerank(t.Context(), "q", []string{"a", "b"})
		if err != nil {
			return
		}
		for _, score := range scores {
			if !(score >= 0 && score <= 1) {
				t.Errorf("score %v", score)
			}
		}
	})
}
