package stack_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// navigation is the Accept header of a browser that opens an address.
const navigation = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

func (s *service) text(method, path string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	response := s.request(method, path, "", nil, headers...)
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, string(body)
}

func TestABrowserOpensTheDashboard(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.token = ""
	for _, path := range []string{"/", "/connectors/1", "/accept-invitation"} {
		page, text := s.text(http.MethodGet, path, "Accept", navigation)
		nonce := regexp.MustCompile(`'nonce-([A-Z2-7]+)'`).FindStringSubmatch(page.Header.Get("Content-Security-Policy"))
		if page.StatusCode != http.StatusOK || nonce == nil || !strings.Contains(text, `nonce="`+nonce[1]+`"`) || strings.Contains(text, "__CSP_NONCE__") {
			t.Fatalf("%s: %d %v %s", path, page.StatusCode, page.Header, text)
		}
		named := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(text, -1)
		if len(named) < 2 {
			t.Fatalf("the page is %s", text)
		}
		for _, file := range named {
			got, content := s.text(http.MethodGet, file[1], "Accept", "*/*", "Accept-Encoding", "gzip")
			if got.StatusCode != http.StatusOK || content == "" || strings.HasPrefix(file[1], "/assets/") && !strings.Contains(got.Header.Get("Cache-Control"), "immutable") {
				t.Errorf("%s: %d %v", file[1], got.StatusCode, got.Header)
			}
		}
	}
	for path, want := range map[string]int{"/": http.StatusOK, "/connectors/1": http.StatusNotFound, "/assets/gone.js": http.StatusNotFound} {
		got, text := s.text(http.MethodGet, path, "Accept", "*/*")
		if got.StatusCode != want || !json.Valid([]byte(text)) {
			t.Errorf("a program at %s: %d %s", path, got.StatusCode, text)
		}
	}
	for _, path := range []string{"/api/v1/nothing", "/v1/nothing", "/graphql", "/mcp", "/webhooks/connectors/nothing", "/oauth/nothing", "/.well-known/nothing"} {
		if got, text := s.text(http.MethodGet, path, "Accept", navigation); strings.Contains(text, "csp-nonce") {
			t.Errorf("%s: %d %s", path, got.StatusCode, text)
		}
	}
}

// A page that the service has served signs in with a cookie, and subscribes, without
// DASHBOARD_ORIGINS, and also behind a proxy that changes the Host header.
func TestAPageOfTheServiceNeedsNoOriginsInTheSettings(t *testing.T) {
	t.Parallel()
	const public = "https://magpie.example.com"
	for what, settings := range map[string]map[string]string{
		"directly": {"DASHBOARD_ORIGINS": ""}, "behind a proxy": {"DASHBOARD_ORIGINS": "", "BASE_URL": public},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := start(t, settings)
			own := s.url
			if settings["BASE_URL"] != "" {
				own = public
			}
			s.token = ""
			response := s.request(http.MethodPost, "/api/v1/auth/login?cookie=1", "application/json", encode(t, map[string]any{"email": email, "password": password}), "Origin", own)
			cookies := response.Cookies()
			if response.StatusCode != http.StatusOK || len(cookies) != 1 || cookies[0].Secure != (own == public) {
				t.Fatalf("%d %v", response.StatusCode, response.Header)
			}
			refreshed := s.request(http.MethodPost, "/api/v1/auth/refresh?cookie=1", "", nil, "Origin", own, "Cookie", cookies[0].Name+"="+cookies[0].Value)
			var body struct {
				Data struct {
					Access string `json:"access_token"`
				}
			}
			if err := json.NewDecoder(refreshed.Body).Decode(&body); err != nil || body.Data.Access == "" {
				t.Fatalf("%d %v", refreshed.StatusCode, err)
			}
			s.token = body.Data.Access
			var me struct{ Me struct{ Role string } }
			s.graphql(&me, `{ me { role } }`, nil)
			if me.Me.Role != "OWNER" {
				t.Errorf("%+v", me)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_ = s.dial(ctx, map[string]any{"authorization": "Bearer " + s.token}, own).CloseNow()
			for _, other := range []string{"https://evil.example.com", "https://magpie.example.com.evil.example", "http://127.0.0.1:1", "null"} {
				socket, _, err := websocket.Dial(ctx, s.url+"/graphql", &websocket.DialOptions{
					HTTPClient: s.http, Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: http.Header{"Origin": {other}},
				})
				if err == nil {
					t.Errorf("a WebSocket from %s is accepted", other)
					_ = socket.CloseNow()
				}
			}
		})
	}
}
