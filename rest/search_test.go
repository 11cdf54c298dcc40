package rest_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
)

// searchRow returns the answer to a query: qeues is corrected, and parts of a search for
// slow failed.
func searchRow(query any) object {
	row := maps.Clone(talkRows()["search"].(object))
	text, _ := query.(string)
	if strings.Contains(text, "qeues") {
		row["didYouMean"], row["corrected"] = strings.ReplaceAll(text, "qeues", "queues"), []any{object{"from": "qeues", "to": "queues"}}
	}
	if strings.Contains(text, "slow") {
		row["warnings"] = []any{"A model is slow."}
	}
	if strings.Contains(text, "counted") {
		row["counts"] = row["facets"]
	}
	return row
}

func TestSearchesSayWhatTheyCorrectedOnlyIfTheyDid(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for query, want := range map[string]string{
		"queues":      "",
		"qeues":       `"did_you_mean":"queues","corrected":[{"from":"qeues","to":"queues"}]`,
		"slow queues": `"warnings":["A model is slow."]`,
		"slow qeues":  `"did_you_mean":"slow queues","corrected":[{"from":"qeues","to":"queues"}],"warnings":["A model is slow."]`,
	} {
		for name, r := range map[string]*http.Request{
			"POST":      request(http.MethodPost, "/v1/docs/search", `{"query":"`+query+`"}`, "X-Service-Key", secretKey),
			"GET":       request(http.MethodGet, "/v1/docs/search?query="+strings.ReplaceAll(query, " ", "+"), "", "X-Service-Key", secretKey),
			"dashboard": request(http.MethodGet, "/api/v1/search?query="+strings.ReplaceAll(query, " ", "+"), "", "Authorization", "Bearer session"),
		} {
			answer := h.send(r)
			var body struct{ Data map[string]json.RawMessage }
			if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil || answer.Code != http.StatusOK || body.Data["total"] == nil {
				t.Fatalf("%s %q: %d %s, %v", name, query, answer.Code, answer.Body, err)
			}
			for _, key := range []string{"did_you_mean", "corrected", "warnings"} {
				if got := body.Data[key] != nil; got != strings.Contains(want, `"`+key+`"`) {
					t.Errorf("%s %q has %s: %v, want %s", name, query, key, got, want)
				}
			}
			if !strings.Contains(answer.Body.String(), want) {
				t.Errorf("%s %q: %s, want %s", name, query, answer.Body, want)
			}
		}
	}
}
