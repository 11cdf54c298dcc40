package stack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/internal/testkit"
)

// requestLog keeps the lines of a log in JSON.
type requestLog struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *requestLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(line)
}

func (l *requestLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

// of waits for the line of a request.
func (l *requestLog) of(t *testing.T, id string) (line map[string]any) {
	t.Helper()
	testkit.WaitFor(t, "the line of "+id, func() bool {
		for text := range strings.Lines(l.text()) {
			line = nil
			if err := json.Unmarshal([]byte(text), &line); err == nil && line["msg"] == "request" && line["request_id"] == id {
				return true
			}
		}
		return false
	})
	return line
}

func TestEachRequestIsLoggedWithItsCallerAndNothingSecret(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"TRUSTED_PROXIES": "127.0.0.1"})
	key := s.createKey()
	lines := &requestLog{}
	app := *s.app
	app.Log = slog.New(slog.NewJSONHandler(lines, nil))
	listener, err := web.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served, err := stack.Serve(t.Context(), &app, listener, "test", true)
	if err != nil {
		t.Fatal(err)
	}
	logged := &service{t: t, app: &app, url: "http://" + listener.Addr().String(), token: s.token, http: s.http}
	send := func(id, method, path, body string, headers ...string) {
		t.Helper()
		kind := ""
		if body != "" {
			kind = "application/json"
		}
		response := logged.request(method, path, kind, strings.NewReader(body), append(headers, "X-Request-Id", id, "X-Forwarded-For", "192.0.2.1, 203.0.113.9", "User-Agent", "probe  "+strings.Repeat("x", 500))...)
		_, _ = io.Copy(io.Discard, response.Body)
	}
	expect := func(id string, want map[string]any) {
		t.Helper()
		line := lines.of(t, id)
		for name, value := range want {
			if line[name] != value {
				t.Errorf("%s: %s is %v, want %v, in %v", id, name, line[name], value, line)
			}
		}
		if took, _ := line["took"].(float64); took <= 0 {
			t.Errorf("%s took %v", id, line["took"])
		}
	}
	send("search", http.MethodGet, "/v1/docs/search?query=hush", "", "X-Service-Key", key.SecretKey)
	expect("search", map[string]any{"level": "INFO", "method": "GET", "route": "/v1/docs/search", "status": 200.0, "caller": "key", "key_id": lines.of(t, "search")["key_id"], "remote": "203.0.113.9"})
	line := lines.of(t, "search")
	for _, name := range []string{"bytes", "key_id", "workspace_id"} {
		if line[name] == nil {
			t.Errorf("no %s in %v", name, line)
		}
	}
	if agent, _ := line["user_agent"].(string); len(agent) != 200 || !strings.HasPrefix(agent, "probe xx") {
		t.Errorf("the user agent is %q", agent)
	}
	send("refused", http.MethodGet, "/v1/docs/search?query=hush", "", "X-Service-Key", key.PublishableKey, "Origin", "https://hush.example.org")
	expect("refused", map[string]any{"status": 403.0, "caller": "key", "key_id": line["key_id"]})
	send("unknown", http.MethodGet, "/v1/docs/search?query=hush", "", "X-Service-Key", "svc_sk_hush")
	expect("unknown", map[string]any{"status": 401.0, "caller": nil, "route": "/v1/docs/search"})
	send("operation", http.MethodPost, "/graphql", `{"query": "query Mine($hush: String) { me { role } other: collections(search: $hush) { totalCount } }", "variables": {"hush": "hush"}}`)
	send("named", http.MethodPost, "/graphql", `{"query": "query `+strings.Repeat("n", 80)+` { me { role } }"}`)
	expect("named", map[string]any{"caller": "session", "operation": strings.Repeat("n", 64), "operation_type": "query", "route": "/graphql", "status": 200.0})
	if line := lines.of(t, "named"); line["user_id"] == nil || line["session_id"] == nil || line["workspace_id"] == nil {
		t.Errorf("who was it? %v", line)
	}
	send("delivery", http.MethodPost, "/webhooks/connectors/github/018f0000-0000-8000-8000-00000000c011?token=hush", `{"hush": true}`)
	expect("delivery", map[string]any{"route": "/webhooks/connectors/{kind}/{connector}"})
	send("nowhere", http.MethodGet, "/hush?hush", "", "Accept", "application/json")
	expect("nowhere", map[string]any{"route": "", "status": 404.0})
	send("page", http.MethodGet, "/oauth/hush", "")
	expect("page", map[string]any{"route": "/oauth/*"})
	send("preflight", "HUSH", "/v1/hush", "")
	expect("preflight", map[string]any{"route": "/v1/*", "method": "other"})
	send("health", http.MethodGet, "/healthz", "")

	live, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	socket := logged.dial(live, map[string]any{"authorization": "Bearer " + s.token})
	for _, id := range []string{"1", "2"} {
		logged.send(live, socket, map[string]any{"id": id, "type": "subscribe", "payload": map[string]any{"query": `query Hush { me { role } }`}})
		for logged.receive(live, socket).Type != "complete" { // its answer comes first
		}
	}
	if strings.Contains(lines.text(), `"status":101`) {
		t.Error("an open WebSocket was logged")
	}
	_ = socket.CloseNow()
	testkit.WaitFor(t, "the line of the WebSocket", func() bool {
		for text := range strings.Lines(lines.text()) {
			var line map[string]any
			if err := json.Unmarshal([]byte(text), &line); err == nil && line["status"] == 101.0 {
				return line["operations"] == 2.0 && line["caller"] == "session" && line["route"] == "/graphql" && line["bytes"] == nil
			}
		}
		return false
	})
	if err := served.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	text := lines.text()
	for _, secret := range []string{"hush", "svc_", s.token, "Hush", `"request_id":"health"`, "192.0.2.1"} {
		if strings.Contains(text, secret) {
			t.Errorf("the log has %q:\n%s", secret, text)
		}
	}
}
