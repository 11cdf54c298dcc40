package conformance_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const eventsPath = "/v1/analytics/events"

// recorded are the counts of an answer to events that were taken.
type recorded struct{ Accepted, Duplicates, Unknown int }

func recordedOf(t testing.TB, what string, a answer) recorded {
	t.Helper()
	var body struct{ Data recorded }
	if a.status != 202 {
		t.Fatalf("%s: answered %d: %s", what, a.status, a.body)
	}
	must(t, json.Unmarshal([]byte(a.body), &body))
	return body.Data
}

// clicks tells of a click and of feedback by the request id of a search.
func clicks(t *testing.T, s *site) {
	asked := s.search(t, query)
	id := asked.header.Get("X-Request-Id")
	feedback := fmt.Sprintf(`{"type":"feedback","request_id":%q,"rating":"negative","event_id":"one"}`, id)
	click := fmt.Sprintf(`{"type":"click","request_id":%q,"document_id":"01890000-0000-7000-8000-000000000001","position":0}`, id)

	if got := recordedOf(t, "one event", s.post(t, eventsPath, feedback)); got.Accepted != 1 || got.Duplicates != 0 {
		t.Errorf("one event: %+v", got)
	}
	if got := recordedOf(t, "again", s.post(t, eventsPath, `{"events":[`+feedback+`,`+click+`]}`)); got.Accepted != 1 || got.Duplicates != 1 {
		t.Errorf("one event again and another: %+v", got)
	}
	unknown := strings.Replace(click, id, "never-seen", 1)
	if got := recordedOf(t, "unknown", s.post(t, eventsPath, unknown)); got.Accepted != 1 || got.Unknown != 1 {
		t.Errorf("an event of a request that nobody made: %+v", got)
	}

	refused(t, "publishable", s.post(t, eventsPath, click, "X-Service-Key", s.open.Publishable, "Origin", origin), 403, "forbidden", "Secret key required")
	refused(t, "no key", s.post(t, eventsPath, click, "X-Service-Key", ""), 401, "unauthorized", "API key required")
	refused(t, "get", s.do(t, call{"GET", eventsPath, "", s.keyed(nil)}), 405, "method_not_allowed", "")
	for field, body := range map[string]string{
		"type":                 `{"request_id":"x"}`,
		"request_id":           `{"type":"click"}`,
		"rating":               `{"type":"feedback","request_id":"x"}`,
		"events":               `{"events":[]}`,
		"events[1]":            `{"events":[` + click + `,7]}`,
		"events[1].rating":     `{"events":[` + click + `,{"type":"feedback","request_id":"x"}]}`,
		"events[0].position":   `{"events":[{"type":"click","request_id":"x","document_id":"01890000-0000-7000-8000-000000000001","position":-1}]}`,
		"comment":              `{"type":"feedback","request_id":"x","rating":"positive","comment":"` + strings.Repeat("ü", 501) + `"}`,
		"events[0].request_id": `{"events":[{"type":"click","request_id":"a b"}]}`,
	} {
		invalid(t, field, s.post(t, eventsPath, body), field)
	}
	invalid(t, "101 events", s.post(t, eventsPath, `{"events":[`+strings.Repeat(click+",", 100)+click+`]}`), "events")
}

// visitorsHold tells of clicks and thumbs as a page does.
func visitorsHold(t *testing.T, s *site) {
	const path = "/v1/docs/events"
	asked := s.search(t, query)
	request, results := asked.header.Get("X-Request-Id"), found(t, "a search", asked).Data.Results
	if len(results) == 0 {
		t.Fatal("nothing is found")
	}
	click := fmt.Sprintf(`{"type":"click","request_id":%q,"result_id":%q,"position":0}`, request, results[0].ID)
	page := []string{"X-Service-Key", s.open.Publishable, "Origin", origin}
	if got := recordedOf(t, "a click", s.post(t, path, click, page...)); got.Accepted != 1 || got.Duplicates != 0 {
		t.Errorf("a click: %+v", got)
	}
	if got := recordedOf(t, "with the other key", s.post(t, path, click)); got.Accepted != 0 || got.Duplicates != 1 {
		t.Errorf("the same click with the secret key: %+v", got)
	}
	if got := recordedOf(t, "a thumb", s.post(t, path, fmt.Sprintf(`{"type":"feedback","request_id":%q,"rating":"positive"}`, request), page...)); got.Accepted != 1 {
		t.Errorf("a thumb: %+v", got)
	}
	for field, body := range map[string]string{
		"request_id": strings.Replace(click, request, "guess", 1), "type": `{"type":"look","request_id":"` + request + `"}`, "rating": `{"type":"feedback","request_id":"` + request + `"}`,
	} {
		invalid(t, field, s.post(t, path, body, page...), field)
	}
	refused(t, "no key", s.post(t, path, click, "X-Service-Key", ""), 401, "unauthorized", "API key required")
	refused(t, "another host", s.post(t, path, click, "X-Service-Key", s.open.Publishable, "Origin", "https://evil.example.org"), 403, "forbidden", "Host not allowed")
}
