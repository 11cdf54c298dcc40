package web_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql/handler/testserver"
	"github.com/coder/websocket"

	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/internal/live/connection"
)

// graphQLHandler returns a handler with a small schema and all transports.
func graphQLHandler(t *testing.T) http.Handler {
	t.Helper()
	server := testserver.New()
	streams := web.NewLive(t.Context(), accounts{}, nil, connection.Limits{}, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { streams.Close(context.Background()) })
	web.AddTransports(server.Server, streams, 1<<10)
	o := options()
	o.GraphQL = server
	return web.New(o)
}

func TestASubscriptionByPlainPOSTIsRejected(t *testing.T) {
	t.Parallel()
	got := ask(t, graphQLHandler(t), http.MethodPost, "/graphql", `{"query": "subscription { name }"}`,
		"Content-Type", "application/json", "Authorization", "Bearer good")
	if !strings.Contains(got.body, "text/event-stream") || !strings.Contains(got.body, `"invalid_request"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// form returns a multipart body. The name of a part is the text before its colon.
func form(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		name, content, _ := strings.Cut(part, ":")
		file := ""
		if name != "operations" && name != "map" {
			file = `; filename="a.md"`
		}
		b.WriteString("--BB\r\nContent-Disposition: form-data; name=\"" + name + "\"" + file + "\r\n\r\n" + content + "\r\n")
	}
	return b.String() + "--BB--\r\n"
}

func TestAMalformedFormIsAClientError(t *testing.T) {
	t.Parallel()
	h := graphQLHandler(t)
	const operations = `operations:{"query": "{ name }", "variables": {"f": [null]}}`
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"no map":                    {form(operations), 400},
		"no operations":             {form(`map:{}`), 400},
		"operations are no JSON":    {form("operations:{", "map:{}"), 400},
		"the map is no JSON":        {form(operations, "map:["), 400},
		"a place after the list":    {form(operations, `map:{"0": ["variables.f.9"]}`, "0:x"), 400},
		"a place before the list":   {form(operations, `map:{"0": ["variables.f.-1"]}`, "0:x"), 400},
		"a place that is none":      {form(operations, `map:{"0": ["variables.g.0"]}`, "0:x"), 400},
		"a file that does not come": {form(operations, `map:{"0": ["variables.f.0"]}`), 400},
		"a file of nobody":          {form(operations, `map:{}`, "0:x"), 400},
		"many places":               {form(operations, `map:{"0": [`+strings.Repeat(`"variables.f.0",`, 1000)+`"variables.f.0"]}`, "0:x"), 400},
		"nested operations":         {form(`operations:{"query": "{ name }", "variables": {"f": `+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}}`, "map:{}"), 400},
		"large operations":          {form(`operations:{"query": "`+strings.Repeat("x", 1<<20)+`"}`, "map:{}"), 413},
		"a large map":               {form(operations, `map:{"0": ["`+strings.Repeat("x", 1<<20)+`"]}`, "0:x"), 413},
		"text before the form":      {strings.Repeat("x", 3<<20) + "\r\n" + form(operations, "map:{}"), 413},
		"cut off":                   {form(operations, `map:{"0": ["variables.f.0"]}`, "0:x")[:150], 400},
		"too large":                 {form(operations, `map:{"0": ["variables.f.0"]}`, "0:"+strings.Repeat("x", 2<<20)), 413},
	} {
		got := ask(t, h, http.MethodPost, "/graphql", c.body, "Content-Type", "multipart/form-data; boundary=BB", "Authorization", "Bearer good")
		want := map[int]string{400: "invalid_request", 413: "too_large"}[c.status]
		if got.status != c.status || got.code() != want || !strings.Contains(got.body, `"errors"`) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	got := ask(t, h, http.MethodPost, "/graphql", form(operations, `map:{}`), "Content-Type", "multipart/form-data; boundary=BB")
	if got.status != http.StatusUnauthorized || got.code() != "unauthorized" {
		t.Errorf("a form without a session: %d %s", got.status, got.body)
	}
}

func TestOtherUpgradesAreIgnored(t *testing.T) {
	t.Parallel()
	got := ask(t, web.New(options()), http.MethodPost, "/graphql", operation, "Content-Type", "application/json", "Upgrade", "h2c")
	if got.status != http.StatusOK || !strings.HasSuffix(got.body, operation) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestARejectedWebSocketHasAReason(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(graphQLHandler(t))
	defer server.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for _, payload := range []string{`{"authorization": "Bearer bad"}`, `{"Authorization": "svc_sk_x"}`, `{"X-Service-Key": "svc_sk_x"}`} {
		conn, response, err := websocket.Dial(t.Context(), server.URL+"/graphql", &websocket.DialOptions{
			HTTPClient: &http.Client{Transport: transport, Timeout: 10 * time.Second}, Subprotocols: []string{"graphql-transport-ws"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if response.Body != nil {
			_ = response.Body.Close()
		}
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"type": "connection_init", "payload": `+payload+`}`)); err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, _, err = conn.Read(t.Context())
		}
		if code := websocket.CloseStatus(err); code != 4403 {
			t.Errorf("%s: closed with %d: %v", payload, code, err)
		}
		_ = conn.CloseNow()
	}
}
