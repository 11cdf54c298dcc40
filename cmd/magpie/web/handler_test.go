package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/metrics"
	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/rest/widget"
)

// accounts is an Accounts with one valid token.
type accounts struct{}

func (accounts) Authenticate(_ context.Context, token string) (viewer.Viewer, error) {
	if token != "good" {
		return viewer.Viewer{}, apierr.New(apierr.Unauthorized, "Session required")
	}
	return viewer.Viewer{Kind: viewer.KindSession, Workspace: uuid.Max, Role: viewer.RoleOwner}, nil
}

func (accounts) Roles(_ context.Context, sessions []uuid.UUID) (map[uuid.UUID]viewer.Role, error) {
	roles := map[uuid.UUID]viewer.Role{}
	for _, id := range sessions {
		roles[id] = viewer.RoleOwner
	}
	return roles, nil
}

// whoami sends the kind and surface of the viewer. It can panic.
func whoami(w http.ResponseWriter, r *http.Request) {
	switch r.Header.Get("X-Panic") {
	case "early":
		panic("secret detail")
	case "late":
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, "half an ans")
		_ = http.NewResponseController(w).Flush()
		panic("secret detail")
	}
	v, _ := viewer.From(r.Context())
	body, _ := io.ReadAll(r.Body)
	_, _ = io.WriteString(w, string(v.Kind)+" "+string(v.Surface)+" "+string(body))
}

func options() web.Options {
	scripts, err := widget.New()
	if err != nil {
		panic(err)
	}
	return web.Options{
		GraphQL: http.HandlerFunc(whoami), REST: http.HandlerFunc(whoami), MCP: http.HandlerFunc(whoami), Authorize: http.HandlerFunc(whoami), Accounts: accounts{}, OpenAPI: http.HandlerFunc(whoami), Schema: http.HandlerFunc(whoami), Webhooks: http.HandlerFunc(whoami), Widget: scripts,
		CrossOrigin: func(h http.Handler) http.Handler { return h },
		Ready:       map[string]func(context.Context) error{"database": func(context.Context) error { return nil }},
		Metrics:     metrics.New("test"), MetricsNetworks: config.Networks{netip.MustParsePrefix("127.0.0.0/8")},
		Page: true, Version: "test", Log: slog.New(slog.DiscardHandler),
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) code() string {
	var body struct {
		Error struct{ Code string }
	}
	_ = json.Unmarshal([]byte(a.body), &body)
	return body.Error.Code
}

func ask(t *testing.T, h http.Handler, method, path, body string, headers ...string) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:5000"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

const operation = `{"query": "{ me { role } }"}`

func TestGraphQLAuthentication(t *testing.T) {
	t.Parallel()
	h := web.New(options())
	for _, c := range []struct {
		name   string
		want   string
		header []string
	}{
		{"nobody", "anonymous DASHBOARD " + operation, nil},
		{"a session", "session DASHBOARD " + operation, []string{"Authorization", "Bearer good"}},
		{"a session, sloppily written", "session DASHBOARD " + operation, []string{"Authorization", "bearer   good "}},
	} {
		got := ask(t, h, http.MethodPost, "/graphql", operation, append(c.header, "Content-Type", "application/json")...)
		if got.status != http.StatusOK || got.body != c.want {
			t.Errorf("%s: %d %s", c.name, got.status, got.body)
		}
	}
	for name, header := range map[string][]string{
		"a wrong token":            {"Authorization", "Bearer bad"},
		"no scheme":                {"Authorization", "good"},
		"another scheme":           {"Authorization", "Basic good"},
		"an API key":               {"X-Service-Key", "svc_sk_x"},
		"an API key beside a good": {"X-Service-Key", "svc_sk_x", "Authorization", "Bearer good"},
		"an API key as a token":    {"Authorization", "Bearer svc_sk_x"},
	} {
		got := ask(t, h, http.MethodPost, "/graphql", operation, append(header, "Content-Type", "application/json")...)
		if got.status != http.StatusUnauthorized || got.code() != "unauthorized" || !strings.Contains(got.body, `"errors"`) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

func TestMalformedOperationsAreRejected(t *testing.T) {
	t.Parallel()
	h := web.New(options())
	for name, c := range map[string]struct {
		method, kind, body string
		status             int
	}{
		"no JSON":              {http.MethodPost, "application/json", `{"query": "password`, http.StatusBadRequest},
		"a list":               {http.MethodPost, "application/json", `[` + operation + `]`, http.StatusBadRequest},
		"no query":             {http.MethodPost, "application/json", `{}`, http.StatusBadRequest},
		"nothing":              {http.MethodPost, "application/json", ``, http.StatusBadRequest},
		"wrong variables":      {http.MethodPost, "application/json", `{"query": "{a}", "variables": 1}`, http.StatusBadRequest},
		"a form":               {http.MethodPost, "application/x-www-form-urlencoded", `query=1`, http.StatusUnsupportedMediaType},
		"no type":              {http.MethodPost, "", operation, http.StatusUnsupportedMediaType},
		"GET":                  {http.MethodGet, "", "", http.StatusMethodNotAllowed},
		"too large":            {http.MethodPost, "application/json", `{"query": "` + strings.Repeat("x", 1<<20) + `"}`, http.StatusRequestEntityTooLarge},
		"too large for nobody": {http.MethodPost, "application/json", `{"query": "` + strings.Repeat("x", 65<<10) + `"}`, http.StatusRequestEntityTooLarge},
		"nested too deeply":    {http.MethodPost, "application/json", `{"query": "{a}", "variables": {"a": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`, http.StatusBadRequest},
		"a charset is fine":    {http.MethodPost, "application/json; charset=utf-8", operation, http.StatusOK},
	} {
		got := ask(t, h, c.method, "/graphql", c.body, "Content-Type", c.kind)
		if got.status != c.status || strings.Contains(got.body, "password") {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	h := web.New(options())
	for path, want := range map[string]int{
		"/": 200, "/healthz": 200, "/readyz": 200, "/metrics": 200, "/playground": 301, "/playground/": 200,
		"/playground/app.js": 200, "/playground/style.css": 200,
		"/playground/widget.html": 200, "/playground/widget-demo.js": 200, "/widget.js": 200, "/magpie.js": 200, "/magpie.d.ts": 200, "/widget.js/": 404, "/playground/../server.go": 404, "/playground/x": 404,
		"/playgrounds": 404, "/v1": 200, "/v1/docs/search": 200, "/api/v1/collections": 200, "/v10": 404, "/api": 404,
		"/favicon.ico": 404, "//": 404, "/graphql/": 404,
		"/openapi.json": 200, "/openapi.json/": 404, "/openapi.yaml": 404, "/schema.graphql": 200, "/schema.graphql/": 404,
	} {
		got := ask(t, h, http.MethodGet, path, "")
		if got.status != want {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		if want == http.StatusNotFound && got.code() != "not_found" {
			t.Errorf("%s: %s", path, got.body)
		}
	}
	if got := ask(t, h, http.MethodPost, "/healthz", ""); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") == "" {
		t.Errorf("POST /healthz: %d", got.status)
	}
	for _, published := range []string{"/openapi.json", "/schema.graphql"} {
		if got := ask(t, h, http.MethodPost, published, ""); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") == "" {
			t.Errorf("POST %s: %d", published, got.status)
		}
		if got := ask(t, h, http.MethodOptions, published, "", "Access-Control-Request-Method", "GET"); got.status != http.StatusOK {
			t.Errorf("preflight of %s: %d", published, got.status)
		}
	}
	if got := ask(t, h, http.MethodPost, "/widget.js", ""); got.status != http.StatusMethodNotAllowed || got.code() != "method_not_allowed" {
		t.Errorf("POST /widget.js: %d", got.status)
	}
	without := options()
	without.Page = false
	if got := ask(t, web.New(without), http.MethodGet, "/playground/", ""); got.status != http.StatusNotFound {
		t.Errorf("the playground is served without Page: %d", got.status)
	}
}

func TestThePlaygroundUsesNoOtherHost(t *testing.T) {
	t.Parallel()
	h := web.New(options())
	for _, path := range []string{"/playground/", "/playground/app.js", "/playground/style.css", "/playground/widget.html", "/playground/widget-demo.js"} {
		got := ask(t, h, http.MethodGet, path, "")
		if strings.Contains(got.body, "https://") || strings.Contains(got.body, "http://") || strings.Contains(got.body, `src="//`) {
			t.Errorf("%s contains another host", path)
		}
		if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
}

func TestReadinessReportsFailedParts(t *testing.T) {
	t.Parallel()
	o := options()
	o.Ready["redis"] = func(context.Context) error { return errors.New("dial 10.1.2.3: refused") }
	got := ask(t, web.New(o), http.MethodGet, "/readyz", "")
	if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, `"redis":"unavailable"`) ||
		!strings.Contains(got.body, `"database":"ok"`) || strings.Contains(got.body, "10.1.2.3") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// publicError is an error with a public reason.
type publicError struct{ error }

func (publicError) Reason() string { return "the schema is older than this program" }

func TestReadinessReportsPublicReasons(t *testing.T) {
	t.Parallel()
	o := options()
	o.Ready["schema"] = func(context.Context) error { return fmt.Errorf("at 10.1.2.3: %w", publicError{errors.New("hidden")}) }
	got := ask(t, web.New(o), http.MethodGet, "/readyz", "")
	if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, `"reasons":{"schema":"the schema is older than this program"}`) ||
		strings.Contains(got.body, "10.1.2.3") || strings.Contains(got.body, "hidden") {
		t.Errorf("%d %s", got.status, got.body)
	}
	delete(o.Ready, "schema")
	if got := ask(t, web.New(o), http.MethodGet, "/readyz", ""); got.status != http.StatusOK || strings.Contains(got.body, "reasons") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestMetricsAreAvailableToTheirNetworks(t *testing.T) {
	t.Parallel()
	h := web.New(options())
	ask(t, h, http.MethodGet, "/v1/docs/search?query=secret", "")
	got := ask(t, h, http.MethodGet, "/metrics", "")
	if !strings.Contains(got.body, `magpie_http_requests_total{method="GET",status="200",surface="public"} 1`) || strings.Contains(got.body, "secret") {
		t.Errorf("%s", got.body)
	}
	if got := ask(t, h, http.MethodGet, "/metrics", "", "X-Forwarded-For", "192.0.2.1"); got.status != http.StatusForbidden {
		t.Errorf("through a proxy on this machine: %d", got.status)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	r.RemoteAddr = "192.0.2.1:5000"
	r.Header.Set("X-Forwarded-For", "127.0.0.1")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("from another network: %d", w.Code)
	}
}

func TestEveryResponseHasARequestID(t *testing.T) {
	t.Parallel()
	h := web.New(options())
	for _, path := range []string{"/", "/nope", "/graphql", "/v1/x"} {
		if got := ask(t, h, http.MethodGet, path, ""); got.header.Get("X-Request-Id") == "" {
			t.Errorf("%s has none", path)
		}
	}
	if got := ask(t, h, http.MethodGet, "/", "", "X-Request-Id", "mine-1"); got.header.Get("X-Request-Id") != "mine-1" {
		t.Error("a safe ID was replaced")
	}
	if got := ask(t, h, http.MethodGet, "/", "", "X-Request-Id", "two words"); got.header.Get("X-Request-Id") == "two words" {
		t.Error("an unsafe ID was not replaced")
	}
}

func TestPanicsHaveNoDetails(t *testing.T) {
	t.Parallel()
	h := web.New(options())
	got := ask(t, h, http.MethodGet, "/v1/x", "", "X-Panic", "early")
	if got.status != http.StatusInternalServerError || got.code() != "internal" || strings.Contains(got.body, "secret detail") {
		t.Errorf("%d %s", got.status, got.body)
	}
	// An incomplete response must not look complete.
	server := httptest.NewServer(h)
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Panic", "late")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("an incomplete response ended normally: %q", body)
	}
}
