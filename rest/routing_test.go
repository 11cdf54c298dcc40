package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/storedop"
	"github.com/magpie-search/magpie/rest"
)

func TestUnknownPathsAndMethodsAreJSONErrors(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for target, want := range map[string]struct {
		method string
		status int
		allow  string
	}{
		"/v1":                          {"GET", 404, ""},
		"/v1/":                         {"GET", 404, ""},
		"/v1//docs/search":             {"GET", 404, ""},
		"/v1/docs/search/":             {"POST", 404, ""},
		"/v1/docs/../docs/search":      {"POST", 404, ""},
		"/api/v1":                      {"GET", 404, ""},
		"/api/v1/agent":                {"GET", 404, ""},
		"/api/v1/collections/%2e%2e/x": {"GET", 404, ""},
		"/v1/chat/stream":              {"GET", 405, "POST"},
		"/v1/docs/search":              {"PUT", 405, "GET, HEAD, POST"},
		"/api/v1/collections/x":        {"POST", 405, "DELETE, GET, HEAD, PUT"},
		"/api/v1/connectors/test":      {"OPTIONS", 405, "DELETE, GET, HEAD, PATCH, POST, PUT"},
		"/api/v1/connectors/" + connectorID + "/files/upload": {"GET", 405, "POST"},
	} {
		r := request(want.method, "/", "", "Authorization", "Bearer session")
		r.URL.Path, r.URL.RawPath = unescaped(t, target), target
		answer := h.send(r)
		got := refusalOf(t, answer)
		if got.status != want.status || answer.Header().Get("Allow") != want.allow || answer.Header().Get("X-Request-Id") == "" {
			t.Errorf("%s %s: %+v, Allow %q", want.method, target, got, answer.Header().Get("Allow"))
		}
		if want.status == 405 && got.code != "method_not_allowed" || want.status == 404 && got.code != "not_found" {
			t.Errorf("%s %s: %+v", want.method, target, got)
		}
	}
}

func unescaped(t *testing.T, path string) string {
	t.Helper()
	return strings.NewReplacer("%2e", ".", "%2E", ".").Replace(path)
}

func TestMalformedIDsAreNotFound(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, id := range []string{"1", "%00", "%ff", "018f00000000800080000000000c0111", "urn:uuid:" + collectionID, "{" + collectionID + "}", collectionID + "%0a", strings.Repeat("a", 4000)} {
		r := httptest.NewRequest(http.MethodDelete, "/api/v1/collections/"+id, nil)
		r.Header.Set("Authorization", "Bearer session")
		if got := refusalOf(t, h.send(r)); got != (refusal{404, "not_found", "Collection not found"}) {
			t.Errorf("%.60q: %+v", id, got)
		}
	}
	if len(h.calls) > 0 {
		t.Errorf("the resolvers saw %v", h.calls)
	}
	upper := httptest.NewRequest(http.MethodGet, "/api/v1/collections/"+strings.ToUpper(collectionID), nil)
	upper.Header.Set("Authorization", "Bearer session")
	if answer := h.send(upper); answer.Code != 200 {
		t.Errorf("an upper case id is answered %d", answer.Code)
	}
}

func TestHEADIsGETWithoutABody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newFixture(t).http)
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL+"/v1/docs/search?query=q", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Service-Key", secretKey)
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != 200 || answer.ContentLength <= 0 {
		t.Errorf("%d with %d bytes announced", answer.StatusCode, answer.ContentLength)
	}
}

func TestOtherPathsGoToTheNextHandler(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, target := range []string{"/", "/v10/docs", "/api", "/api/v2/collections", "/graphql", "/webhooks/connectors/github"} {
		if answer := h.send(request(http.MethodGet, target, "")); !strings.HasPrefix(answer.Body.String(), "404 page not found") {
			t.Errorf("%s: %d %s", target, answer.Code, answer.Body)
		}
		if h.rest.Supports(request(http.MethodGet, target, "")) {
			t.Errorf("Supports(%s)", target)
		}
	}
}

func TestCORSOfTheTwoSurfaces(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(o *rest.Options) { o.Origins = []string{"https://app.example.com"} })
	closed := newFixture(t)
	preflight := func(h *fixture, target, origin, method, headers string) http.Header {
		return h.send(request(http.MethodOptions, target, "", "Origin", origin, "Access-Control-Request-Method", method, "Access-Control-Request-Headers", headers)).Header()
	}
	for _, c := range []struct {
		what    string
		headers http.Header
		allowed bool
	}{
		{"a public page", preflight(h, "/v1/chat/stream", "https://anywhere.example.org", "POST", "content-type,x-service-key"), true},
		{"a public page signing", preflight(h, "/v1/docs/search", "null", "GET", "x-service-key,x-service-signature,x-service-timestamp"), true},
		{"the dashboard", preflight(h, "/api/v1/collections/x", "https://app.example.com", "PATCH", "authorization,content-type"), true},
		{"another page on the dashboard", preflight(h, "/api/v1/collections", "https://evil.example.org", "GET", "authorization"), false},
		{"a dashboard without origins", preflight(closed, "/api/v1/collections", "https://app.example.com", "GET", "authorization"), false},
	} {
		if got := c.headers.Get("Access-Control-Allow-Origin") != ""; got != c.allowed {
			t.Errorf("%s: allowed %v: %v", c.what, got, c.headers)
		}
		if c.headers.Get("X-Request-Id") == "" || c.headers.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %v", c.what, c.headers)
		}
	}
	answer := h.send(search("X-Service-Key", secretKey, "Origin", "https://anywhere.example.org"))
	exposed := answer.Header().Get("Access-Control-Expose-Headers")
	for _, name := range []string{"X-Conversation-Id", "X-Request-Id", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Retry-After"} {
		if !strings.Contains(exposed, name) {
			t.Errorf("%s is not exposed: %s", name, exposed)
		}
	}
}

func TestCursorsLeadToTheNextPage(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var list struct {
		Data []json.RawMessage `json:"data"`
		Next string            `json:"next_cursor"`
	}
	get := func(target string) *httptest.ResponseRecorder {
		return h.send(request(http.MethodGet, target, "", "Authorization", "Bearer session"))
	}
	if err := json.Unmarshal(get("/api/v1/collections").Body.Bytes(), &list); err != nil || list.Next == "" || len(list.Data) != 1 {
		t.Fatalf("%+v %v", list, err)
	}
	if strings.ContainsAny(list.Next, "+/=") {
		t.Errorf("the cursor %q needs escaping in a URL", list.Next)
	}
	h.calls = nil
	if answer := get("/api/v1/collections?cursor=" + list.Next); answer.Code != 200 || !strings.Contains(h.calls[0], `"after":"end+of/collections"`) {
		t.Errorf("%d %v", answer.Code, h.calls)
	}
	for _, bad := range []string{list.Next[:len(list.Next)-1], list.Next + "A", "A" + list.Next[1:], "%20", "%00"} {
		if answer := get("/api/v1/collections?cursor=" + bad); answer.Code != 400 {
			t.Errorf("cursor %q: %d", bad, answer.Code)
		}
	}
	if answer := get("/api/v1/connectors?cursor=" + list.Next); answer.Code != 400 {
		t.Errorf("a cursor of another list: %d", answer.Code)
	}
	if answer := get("/api/v1/collections?cursor="); answer.Code != 200 {
		t.Errorf("an empty cursor: %d", answer.Code)
	}
}

func TestSearchAndChatReportAnExceededQuota(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.chat = func(context.Context, call) (any, error) {
		return nil, apierr.New(apierr.QuotaExceeded, "Query limit exceeded")
	}
	requests := []*http.Request{
		request(http.MethodPost, "/v1/docs/search", `{"query":"quota"}`, "X-Service-Key", secretKey), chat(chatBody),
		request(http.MethodGet, "/api/v1/search?query=quota", "", "Authorization", "Bearer session"),
	}
	for _, r := range requests {
		if got := refusalOf(t, h.send(r)); got != (refusal{402, "quota_exceeded", "Query limit exceeded"}) {
			t.Errorf("%s: %+v", r.URL.Path, got)
		}
	}
	if len(h.calls) != len(requests) {
		t.Errorf("resolver calls: %v, want one for each request", h.calls)
	}
}

func TestADisconnectIsNotLoggedAsAnError(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	h := newFixture(t, func(o *rest.Options) { o.Log = slog.New(slog.NewTextHandler(&lines, nil)) })
	ctx, leave := context.WithCancel(t.Context())
	h.fake.resolve = func(context.Context, call) (any, error) {
		leave()
		return nil, fmt.Errorf("read the rows: %w", context.Canceled)
	}
	h.send(request(http.MethodGet, "/api/v1/collections", "", "Authorization", "Bearer session").WithContext(ctx))
	if lines.Len() > 0 {
		t.Errorf("logged %s", lines.String())
	}
}

func TestAPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.fake.resolve = func(ctx context.Context, _ call) (any, error) {
		if !storedop.Is(ctx) {
			t.Error("the operation is not marked as stored")
		}
		panic("out of order")
	}
	for _, r := range []*http.Request{search("X-Service-Key", secretKey), chat(chatBody)} {
		if got := refusalOf(t, h.send(r)); got.status != 500 || strings.Contains(got.message, "order") {
			t.Errorf("%s: %+v", r.URL.Path, got)
		}
	}
}

func TestNewRejectsInvalidOperations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*ast.Schema)
		says   string
	}{
		"a field is gone":        {func(s *ast.Schema) { without(s.Types["SearchResult"], "headingPath") }, `Cannot query field "headingPath"`},
		"an argument is gone":    {func(s *ast.Schema) { s.Mutation.Fields.ForName("startSync").Arguments = nil }, "Unknown argument"},
		"an input field is gone": {func(s *ast.Schema) { without(s.Types["SearchFilters"], "docTypes") }, "no variable input.filters.docTypes"},
		"a root field is gone":   {func(s *ast.Schema) { without(s.Query, "search") }, `Cannot query field "search"`},
	} {
		schema := realSchema(t)
		c.change(schema)
		_, err := rest.New(rest.Options{Schema: schema, Keys: keys{}, Sessions: sessions{}})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, o := range []rest.Options{{Keys: keys{}, Sessions: sessions{}}, {Schema: realSchema(t), Sessions: sessions{}}, {Schema: realSchema(t), Keys: keys{}}} {
		if _, err := rest.New(o); err == nil {
			t.Errorf("New(%+v) is no error", o)
		}
	}
}

func without(d *ast.Definition, name string) {
	var kept ast.FieldList
	for _, f := range d.Fields {
		if f.Name != name {
			kept = append(kept, f)
		}
	}
	d.Fields = kept
}

func TestRoutesHaveTheStatusesOfTheInterface(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	open := []string{"/api/v1/auth/login", "/api/v1/auth/refresh", "/api/v1/auth/sign-up", "/api/v1/auth/reset-password", "/api/v1/auth/invitation",
		"/api/v1/auth/accept-invitation", "/api/v1/auth/methods", "/api/v1/auth/oidc/start", "/api/v1/auth/oidc/callback", "/api/v1/auth/oidc/finish",
		"/api/v1/auth/saml/start", "/api/v1/auth/saml/finish",
		"/api/v1/oauth/callback/{provider}"}
	for _, r := range rest.Routes() {
		name := r.Method + " " + r.Pattern
		if seen[name] {
			t.Errorf("%s is listed twice", name)
		}
		seen[name] = true
		want := 200
		switch {
		case r.Method == http.MethodDelete:
			want = 204
		case strings.HasSuffix(r.Pattern, "/sync") && r.Method == http.MethodPost:
			want = 202
		case r.Operation == "PlanSync", r.Operation == "ApproveDeletion", r.Operation == "RestoreDeletions":
			want = 202
		case r.Operation == "RecordEvents", r.Operation == "RecordVisitorEvent", r.Operation == "RefreshPermissions", r.Operation == "RetryItems":
			want = 202
		case strings.HasPrefix(r.Operation, "Create"), r.Operation == "UploadFiles":
			want = 201
		}
		if r.Status != want {
			t.Errorf("%s answers %d, want %d", name, r.Status, want)
		}
		if r.Anonymous != slices.Contains(open, r.Pattern) {
			t.Errorf("%s: anonymous is %v", name, r.Anonymous)
		}
	}
	if len(seen) != 202 {
		t.Errorf("%d routes", len(seen))
	}
}
