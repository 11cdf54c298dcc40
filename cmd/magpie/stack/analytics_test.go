package stack_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/request/requestid"
)

// A visitor searches with a key; the client's server tells of the click by the
// request id of the answer, at once; the dashboard shows both within a second or two.
func TestAClickIsFoundByTheRequestOfItsSearch(t *testing.T) {
	t.Parallel()
	s := start(t)
	ada := s.furnish("ada")
	response := s.request(http.MethodPost, "/v1/docs/search", "application/json",
		encode(t, map[string]any{"query": canary + " of ada@example.com", "min_score": 0}), "X-Service-Key", ada.secretKey)
	var found struct {
		Data struct {
			Results []struct {
				ID         string
				DocumentID string `json:"document_id"`
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil || len(found.Data.Results) == 0 {
		t.Fatalf("%d %+v %v", response.StatusCode, found, err)
	}
	request := response.Header.Get(requestid.Header)
	// The letters typed before are no questions.
	for _, typed := range []*http.Response{
		s.request(http.MethodPost, "/v1/docs/search", "application/json", encode(t, map[string]any{"query": canary[:4], "prefix": true}), "X-Service-Key", ada.secretKey),
		s.request(http.MethodGet, "/v1/docs/suggest?q="+canary[:4], "", nil, "X-Service-Key", ada.secretKey),
	} {
		if body, err := io.ReadAll(typed.Body); err != nil || typed.StatusCode != http.StatusOK || !strings.Contains(string(body), canary) {
			t.Errorf("%s: %d %s, %v", typed.Request.URL, typed.StatusCode, body, err)
		}
	}
	stream := s.request(http.MethodPost, "/v1/chat/stream", "application/json", encode(t, map[string]any{"message": "Where is the " + canary + "?"}),
		"X-Service-Key", ada.secretKey)
	if _, err := io.ReadAll(stream.Body); err != nil {
		t.Fatal(err)
	}
	send := func(body any) (int, string) {
		t.Helper()
		response := s.request(http.MethodPost, "/v1/analytics/events", "application/json", encode(t, body), "X-Service-Key", ada.secretKey)
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if response.Header.Get("X-RateLimit-Limit") == "" {
			t.Error("the answer has no rate headers")
		}
		return response.StatusCode, string(text)
	}
	click := map[string]any{"type": "click", "request_id": request, "result_id": found.Data.Results[0].ID, "position": 1, "event_id": "1"}
	rate := map[string]any{"type": "feedback", "request_id": stream.Header.Get(requestid.Header), "rating": "positive"}
	if status, body := send(map[string]any{"events": []any{click, rate}}); status != http.StatusAccepted || !strings.Contains(body, `"accepted":2,"duplicates":0`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := send(click); status != http.StatusAccepted || !strings.Contains(body, `"accepted":0,"duplicates":1,"unknown":0`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := send(map[string]any{"events": []any{click, map[string]any{"type": "click", "request_id": request}}}); status != http.StatusBadRequest ||
		!strings.Contains(body, `"events[1].result_id: is required`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := send(map[string]any{"type": "click", "request_id": request}); status != http.StatusBadRequest || !strings.Contains(body, `"result_id: is required`) {
		t.Errorf("%d %s", status, body)
	}

	var report struct {
		QueryAnalytics struct {
			Totals struct {
				Searches, Chats, Clicks, PositiveFeedback int
				MeanReciprocalClickRank, P95Ms            float64
			}
			TopQueries []struct{ Query string }
		}
	}
	deadline := time.Now().Add(time.Minute)
	for report.QueryAnalytics.Totals.Clicks == 0 || report.QueryAnalytics.Totals.PositiveFeedback == 0 {
		if time.Now().After(deadline) {
			t.Fatalf("nothing is shown after a minute: %+v", report)
		}
		s.graphql(&report, `{ queryAnalytics { totals { searches chats clicks positiveFeedback meanReciprocalClickRank p95Ms } topQueries { query } } }`, nil)
	}
	// furnish asked one question in chat, too.
	if got := report.QueryAnalytics.Totals; got.Searches != 1 || got.Chats != 2 || got.Clicks != 1 || got.MeanReciprocalClickRank != 0.5 || got.P95Ms <= 0 {
		t.Errorf("%+v", got)
	}
	if got := fmt.Sprint(report.QueryAnalytics.TopQueries); !strings.Contains(got, canary+" of [email]") || strings.Contains(got, "example") {
		t.Errorf("%s", got)
	}
	// A page of a visitor tells of a click with the id that the server chose.
	visit := s.request(http.MethodPost, "/v1/docs/events", "application/json",
		encode(t, map[string]any{"type": "click", "request_id": request, "result_id": found.Data.Results[0].ID, "position": 0}), "X-Service-Key", ada.publishableKey, "Origin", "https://www.example.com")
	told, err := io.ReadAll(visit.Body)
	if err != nil || visit.StatusCode != http.StatusAccepted || !strings.Contains(string(told), `"accepted":1,"duplicates":0,"unknown":0`) {
		t.Errorf("%d %s, %v", visit.StatusCode, told, err)
	}
	metrics := s.request(http.MethodGet, "/metrics", "", nil)
	text, err := io.ReadAll(metrics.Body)
	if err != nil || !strings.Contains(string(text), "magpie_query_log_written_total 3") || !strings.Contains(string(text), "magpie_query_log_dropped_total 0") {
		t.Errorf("metrics: %v %d", err, metrics.StatusCode)
	}
}
