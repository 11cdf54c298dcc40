package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/rest"
)

// get requests the document.
func get(t *testing.T, method string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	serve, err := openAPIHandler("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	serve.ServeHTTP(answer, request(method, "/openapi.json", "", headers...))
	return answer
}

func TestTheDocumentIsEqualToTheGoldenFile(t *testing.T) {
	t.Parallel()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, get(t, http.MethodGet).Body.Bytes(), "", " "); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("testdata", "openapi.json")
	if *update {
		compare(t, name, pretty.Bytes())
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(pretty.String(), "\n")); d != "" {
		t.Errorf("%s differs (- reviewed, + now); review the change after go test ./rest -update\n%.4000s", name, d)
	}
}

func TestTheDocumentHasExactlyTheRoutes(t *testing.T) {
	t.Parallel()
	doc := loadDescription(t).doc
	want := map[string]bool{}
	for _, r := range rest.Routes() {
		want[r.Method+" "+r.Pattern] = true
	}
	ids := map[string]string{}
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			name := method + " " + path
			if !want[name] {
				t.Errorf("%s is in the document, and no route", name)
			}
			delete(want, name)
			if other := ids[o.OperationID]; o.OperationID == "" || other != "" {
				t.Errorf("%s has the id %q, as has %s", name, o.OperationID, other)
			}
			ids[o.OperationID] = name
			if o.Summary == "" || o.Description == "" || len(o.Tags) != 1 {
				t.Errorf("%s has no summary, description or tag: %q %q %v", name, o.Summary, o.Description, o.Tags)
			}
		}
	}
	for name := range want {
		t.Errorf("%s is not in the document", name)
	}
}

func TestOperationIDsBeginWithAVerb(t *testing.T) {
	t.Parallel()
	verbs := strings.Fields("accept acknowledge allow answer approve authorize call cancel change connect create delete disconnect dismiss end " +
		"explain export finish get import join leave list measure pause plan query record refresh reject remove rename replay resend reset restore " +
		"restrict resume retry revoke rotate run save schedule search set sign start stream suggest switch test unrestrict update upload")
	shape := regexp.MustCompile(`^(` + strings.Join(verbs, "|") + `)([A-Z][A-Za-z]*)$`)
	for path, item := range loadDescription(t).doc.Paths.Map() {
		for method, o := range item.Operations() {
			if !shape.MatchString(o.OperationID) || strings.HasSuffix(o.OperationID, "Get") || strings.HasSuffix(o.OperationID, "Post") {
				t.Errorf("%s %s has the id %s", method, path, o.OperationID)
			}
			if strings.Contains(o.Summary, " a p i") || !strings.EqualFold(strings.ReplaceAll(o.Summary, " ", ""), o.OperationID) {
				t.Errorf("%s has the summary %q", o.OperationID, o.Summary)
			}
		}
	}
}

func TestErrorsNameTheFieldsOfREST(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ route, name, want string }{
		{"POST /v1/docs/search", "minScore", "min_score"},
		{"POST /v1/docs/search", "dateAfter", "filters.date_after"},
		{"POST /v1/docs/search", "filters.docTypes[1]", "filters.doc_types[1]"},
		{"POST /v1/docs/search", "facets.first", "facet_limit"},
		{"GET /api/v1/collections", "after", "cursor"},
		{"PATCH /api/v1/connectors/{id}", "syncStrategy", "doc_sync.sync_strategy"},
		{"PATCH /api/v1/connectors/{id}", "schemaSync.scheduleInterval", "schema_sync.schedule_interval"},
		{"PATCH /api/v1/connectors/{id}", "schemaSync", "schema_sync"},
		{"PUT /api/v1/connectors/{id}", "config.bucket", "config.bucket"},
		{"PUT /api/v1/auth/me", "preferences.timeZone", "preferences.time_zone"},
		{"POST /v1/analytics/events", "events[3].requestId", "events[3].request_id"},
		{"POST /v1/analytics/events", "requestId", "request_id"},
		{"PUT /api/v1/documents/{id}/restriction", "domains[2]", "domains[2]"},
		{"POST /v1/docs/search", "nothing", ""},
	} {
		method, pattern, _ := strings.Cut(c.route, " ")
		if got := rest.WireName(method, pattern, c.name); got != c.want {
			t.Errorf("%s: %s is called %q, want %q", c.route, c.name, got, c.want)
		}
	}
}

func TestTheDocumentHasTheErrorsOfTheInterface(t *testing.T) {
	t.Parallel()
	doc := loadDescription(t).doc
	search := doc.Paths.Value("/v1/docs/search").Post.Responses
	for _, row := range []refusal{
		{401, "unauthorized", "API key required"}, {401, "invalid_key", "Invalid API key"}, {401, "key_expired", "API key has expired"},
		{401, "invalid_signature", "Invalid request signature"}, {402, "quota_exceeded", "Query limit exceeded"},
		{403, "forbidden", "Collection access denied"}, {403, "forbidden", "Host not allowed"}, {429, "rate_limited", "Rate limit exceeded"},
	} {
		response := search.Status(row.status).Value
		described := response.Content["application/json"]
		found := false
		for _, e := range described.Examples {
			shown := e.Value.Value.(map[string]any)["error"].(map[string]any)
			found = found || shown["code"] == row.code && shown["message"] == row.message
		}
		if !found || !strings.Contains(*response.Description, row.code) {
			t.Errorf("%+v is not in the document", row)
		}
	}
	headers := search.Status(429).Value.Headers
	for _, name := range []string{"Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id"} {
		if headers[name] == nil || !headers[name].Value.Required {
			t.Errorf("429 has no header %s", name)
		}
	}
}

func TestTheDocumentHasEveryStreamEvent(t *testing.T) {
	t.Parallel()
	d := loadDescription(t)
	var got []string
	for _, event := range d.eventSchema(d.doc.Paths.Value("/v1/chat/stream").Post).OneOf {
		name := fmt.Sprint(event.Value.Properties["event"].Value.Const)
		if event.Value.Properties["data"].Ref == "" {
			t.Errorf("the data of %s is no component", name)
		}
		got = append(got, name)
	}
	if d := cmp.Diff([]string{"content", "sources", "follow_up", "done", "error"}, got); d != "" {
		t.Error(d)
	}
}

func TestTheServerAcceptsTheExampleRequests(t *testing.T) {
	t.Parallel()
	doc := loadDescription(t).doc
	ids := strings.NewReplacer("{id}", collectionID, "{jobId}", jobID, "{documentId}", documentID, "{templateId}", templateID, "{memoryId}", memoryID, "{messageId}", messageID, "{provider}", "google", "{itemId}", itemID, "{runId}", jobID)
	for _, r := range rest.Routes() {
		o := doc.Paths.Value(r.Pattern).GetOperation(r.Method)
		target, body := ids.Replace(r.Pattern)+"?", ""
		for _, p := range o.Parameters {
			if p.Value.In != "query" || p.Value.Example == nil {
				continue
			}
			values, ok := p.Value.Example.([]any)
			if !ok {
				values = []any{p.Value.Example}
			}
			for _, value := range values {
				target += strings.ReplaceAll(fmt.Sprintf("%s=%v&", p.Value.Name, value), " ", "+")
			}
		}
		if o.RequestBody != nil {
			media := o.RequestBody.Value.Content["application/json"]
			if media == nil {
				continue // a form
			}
			raw, err := json.Marshal(media.Example)
			if err != nil || media.Example == nil {
				t.Fatalf("%s %s has no example: %v", r.Method, r.Pattern, err)
			}
			body = strings.ReplaceAll(string(raw), "018f3c2a-5b7e-8a91-b0c4-2d6e8f0a1b3c", collectionID)
		}
		target = strings.ReplaceAll(target, "018f3c2a-5b7e-8a91-b0c4-2d6e8f0a1b3c", collectionID)
		sent := request(r.Method, strings.TrimRight(target, "?&"), body)
		if r.Surface == viewer.SurfacePublic {
			sent.Header.Set("X-Service-Key", secretKey)
		} else {
			sent.Header.Set("Authorization", "Bearer session")
		}
		if answer := newFixture(t).send(sent); answer.Code != r.Status {
			t.Errorf("%s %s %s is answered %d %s", r.Method, target, body, answer.Code, answer.Body)
		}
	}
}

// All other tests rely on this check.
func TestTheCheckDetectsUndocumentedResponses(t *testing.T) {
	t.Parallel()
	key := []string{"X-Service-Key", secretKey}
	found := `{"data":{"results":[],"total":0,"limit":10,"offset":0,"took_ms":1}}`
	event := "event: content\ndata: {\"delta\":\"a\"}\n\n"
	for name, c := range map[string]struct {
		request      *http.Request
		status       int
		body, header string // a header to remove, or the Content-Type of the response
	}{
		"another field":              {search(key...), 200, strings.Replace(found, `"total"`, `"more":1,"total"`, 1), ""},
		"a missing field":            {search(key...), 200, strings.Replace(found, `"total":0,`, ``, 1), ""},
		"another type":               {search(key...), 200, strings.Replace(found, `"total":0`, `"total":"0"`, 1), ""},
		"null":                       {search(key...), 200, strings.Replace(found, `[]`, `null`, 1), ""},
		"another status":             {search(key...), 418, found, ""},
		"a missing header":           {search(key...), 200, found, "X-RateLimit-Reset"},
		"a code of another status":   {search(key...), 402, `{"error":{"code":"forbidden","message":"x"}}`, ""},
		"a bad request that is fine": {search(key...), 400, `{"error":{"code":"invalid_request","message":"x"}}`, ""},
		"a good request that is not": {request(http.MethodPost, "/v1/docs/search", `{"query":1}`, key...), 200, found, ""},
		"no credentials":             {search(), 200, found, ""},
		"an unknown route":           {request(http.MethodGet, "/v1/nothing", ""), 200, found, ""},
		"an unknown event":           {chat(chatBody), 200, event + strings.Replace(event, "content", "contents", 1), "text/event-stream"},
		"another field of an event":  {chat(chatBody), 200, strings.Replace(event, `"a"`, `"a","b":1`, 1), "text/event-stream"},
		"an event that is cut off":   {chat(chatBody), 200, event + "event: content\ndata: {\"del", "text/event-stream"},
	} {
		answer := httptest.NewRecorder()
		for _, header := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
			answer.Header().Set(header, "1")
		}
		answer.Header().Set("X-Request-Id", "x")
		answer.Header().Set("X-Conversation-Id", conversationID)
		answer.Header().Set("Content-Type", "application/json; charset=utf-8")
		if strings.Contains(c.header, "/") {
			answer.Header().Set("Content-Type", c.header)
		} else {
			answer.Header().Del(c.header)
		}
		answer.WriteHeader(c.status)
		_, _ = answer.WriteString(c.body)
		if problems := loadDescription(t).problems(record(c.request), answer); len(problems) != 1 {
			t.Errorf("%s: %d problems: %v", name, len(problems), problems)
		}
	}
}

func TestTheDocumentIsPublicAndCacheable(t *testing.T) {
	t.Parallel()
	whole := get(t, http.MethodGet, "Origin", "https://editor.example.org")
	tag := whole.Header().Get("ETag")
	if whole.Code != 200 || tag == "" || whole.Header().Get("Content-Type") != "application/json; charset=utf-8" ||
		whole.Header().Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(whole.Header().Get("Cache-Control"), "max-age=") {
		t.Errorf("%d %v", whole.Code, whole.Header())
	}
	if again := get(t, http.MethodGet); again.Header().Get("ETag") != tag || !bytes.Equal(again.Body.Bytes(), whole.Body.Bytes()) {
		t.Error("the second document differs")
	}
	if kept := get(t, http.MethodGet, "If-None-Match", tag); kept.Code != http.StatusNotModified || kept.Body.Len() > 0 {
		t.Errorf("with the current ETag: %d with %d bytes", kept.Code, kept.Body.Len())
	}
	if old := get(t, http.MethodGet, "If-None-Match", `"other"`); old.Code != 200 {
		t.Errorf("with another ETag: %d", old.Code)
	}
	if head := get(t, http.MethodHead); head.Code != 200 || head.Body.Len() > 0 || head.Header().Get("Content-Length") != fmt.Sprint(whole.Body.Len()) {
		t.Errorf("HEAD: %d %v", head.Code, head.Header())
	}
	ask := get(t, http.MethodOptions, "Origin", "https://editor.example.org", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "if-none-match")
	if ask.Header().Get("Access-Control-Allow-Origin") != "*" || !strings.EqualFold(ask.Header().Get("Access-Control-Allow-Headers"), "if-none-match") {
		t.Errorf("preflight: %v", ask.Header())
	}
	if other, err := openAPIHandler("2.0.0"); err != nil {
		t.Error(err)
	} else {
		answer := httptest.NewRecorder()
		other.ServeHTTP(answer, request(http.MethodGet, "/openapi.json", ""))
		if answer.Header().Get("ETag") == tag || !strings.Contains(answer.Body.String(), `"version":"2.0.0"`) {
			t.Error("the documents of two versions are equal")
		}
	}
}

// BenchmarkDescription measures building the document, which happens at startup.
func BenchmarkDescription(b *testing.B) {
	transport, err := rest.New(rest.Options{Schema: realSchema(b), Keys: keys{}, Sessions: sessions{}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := transport.OpenAPI("1.2.3"); err != nil {
			b.Fatal(err)
		}
	}
}
