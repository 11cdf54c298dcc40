package conformance_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// paths tries those beside the real ones.
func paths(t *testing.T, s *site) {
	t.Helper()
	for _, path := range []string{
		"/v1", "/v1/", "/v1/docs", "/v1/docs/", "/v1/docs/search/", "/v1//docs/search", "/v1/docs//search", "/v1/docs/search//", "/v1/docs%2Fsearch", "/v1%2Fdocs%2Fsearch", "/v1/docs/search%2F",
		"/v1/docs/Search", "/v1/DOCS/search", "/v1/./docs/search", "/v1/docs/../docs/search", "/v1/docs/%2e%2e/search", "/v1/docs/search%00", "/v1/docs/search%20", "/v1/docs/search;x=1", "/v1/docs/search.json",
		"/v1/chat", "/v1/chat/stream/", "/v1/chat/stream/x", "/v1/{id}", "/v1/docs/searches", "/v1/\u00fc", "/v1/graphql", "/v1/../graphql", "/v1/..%2fgraphql",
	} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			refused(t, method+" "+path, s.raw(t, method, s.line(method, path, "Content-Length: 0")), 404, "not_found", "Page not found")
		}
	}
	for _, path := range []string{"/%76%31/docs/search?query=q", "/v1/%64ocs/s%65arch?query=q", "http://magpie/v1/docs/search?query=q"} {
		found(t, path, s.raw(t, "GET", s.line("GET", path)))
	}
	for _, method := range []string{"PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "get", "Post", "SEARCH", "PROPFIND"} {
		a := s.raw(t, method, s.line(method, searchPath+"?query=q", "Content-Length: 0"))
		refused(t, method, a, 405, "method_not_allowed", "Method not allowed; this path allows GET, HEAD, POST")
		if allow := a.header.Get("Allow"); allow != "GET, HEAD, POST" {
			t.Errorf("%s: Allow is %q", method, allow)
		}
	}
	for _, path := range []string{"//v1/docs/search", "/", "/x", "/v1x/docs/search", "/api/v1/nothing"} {
		a := s.raw(t, "POST", s.line("POST", path, "Content-Length: 0"))
		if a.status < 400 || a.status > 499 || !json.Valid([]byte(a.body)) || a.header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// protocol sends what never becomes a request; it is answered like all else.
func protocol(t *testing.T, s *site) {
	t.Helper()
	for what, c := range map[string]struct {
		text   string
		status int
		code   string
	}{
		"a bad escape in the path": {s.line("GET", "/v1/docs/%zz"), 400, "invalid_request"},
		"a path cut in an escape":  {s.line("GET", "/v1/docs/%"), 400, "invalid_request"},
		"a space in the path":      {s.line("GET", "/v1/docs/a b"), 400, "invalid_request"},
		"no host":                  {"GET /v1/docs/search HTTP/1.1\r\n\r\n", 400, "invalid_request"},
		"a bad header":             {s.line("GET", "/v1/docs/search", "X Bad: 1"), 400, "invalid_request"},
		"a control in a header":    {s.line("GET", "/v1/docs/search", "X-Bad: a\x01b"), 400, "invalid_request"},
		"two lengths":              {s.line("POST", "/v1/docs/search", "Content-Length: 1", "Content-Length: 2"), 400, "invalid_request"},
		"a length that is none":    {s.line("POST", "/v1/docs/search", "Content-Length: -1"), 400, "invalid_request"},
		"an unknown coding":        {s.line("POST", "/v1/docs/search", "Transfer-Encoding: gzip"), 501, "invalid_request"},
		"a huge header":            {s.line("GET", "/v1/docs/search", "X-Huge: "+strings.Repeat("x", 200_000)), 431, "too_large"},
		"a huge query":             {s.line("GET", "/v1/docs/search?query="+strings.Repeat("x", 200_000)), 431, "too_large"},
		"another protocol":         {"GET /v1/docs/search HTTP/3.7\r\nHost: x\r\n\r\n", 505, "invalid_request"},
		"no protocol":              {"hello\r\n\r\n", 400, "invalid_request"},
	} {
		a := s.raw(t, "GET", c.text)
		var body struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal([]byte(a.body), &body); err != nil || a.status != c.status || body.Error.Code != c.code || body.Error.Message == "" ||
			!strings.HasPrefix(a.header.Get("Content-Type"), "application/json") || a.header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %v %.200s", what, a.status, a.header, a.body)
		}
	}
}

// anyOrigin tries a path as a browser does from a page of any origin.
func anyOrigin(t *testing.T, s *site, path string) {
	t.Helper()
	method := "POST"
	for _, from := range []string{"https://anywhere.example", "http://localhost:3000", "null"} {
		// A browser lists the headers in lower case, sorted.
		for _, requested := range []string{"content-type,x-service-key", "x-service-key", "content-type,x-request-id,x-service-key,x-service-signature,x-service-timestamp", ""} {
			headers := []string{"Origin", from, "Access-Control-Request-Method", method}
			if requested != "" {
				headers = append(headers, "Access-Control-Request-Headers", requested)
			}
			a := s.do(t, call{"OPTIONS", path, "", headers}) // no key: browsers send none
			if a.status != 204 && a.status != 200 || a.header.Get("Access-Control-Allow-Origin") != "*" || !listed(a.header.Get("Access-Control-Allow-Methods"), method) {
				t.Errorf("a preflight from %s: %d %v", from, a.status, a.header)
			}
			for one := range strings.SplitSeq(requested, ",") {
				if one != "" && !listed(a.header.Get("Access-Control-Allow-Headers"), one) {
					t.Errorf("a preflight does not allow %s: %v", one, a.header)
				}
			}
			if a.header.Get("Access-Control-Allow-Credentials") != "" || a.header.Get("X-Request-Id") == "" || !listed(strings.Join(a.header.Values("Vary"), ","), "Origin") {
				t.Errorf("a preflight: %v", a.header)
			}
		}
		for what, a := range map[string]answer{
			"an answer": s.post(t, path, `{"query":"key","message":"key"}`, "Origin", from),
			"an error":  s.post(t, path, `{`, "Origin", from),
			"no key":    s.post(t, path, `{`, "Origin", from, "X-Service-Key", ""),
		} {
			if a.header.Get("Access-Control-Allow-Origin") != "*" || a.header.Get("Access-Control-Allow-Credentials") != "" || !listed(strings.Join(a.header.Values("Vary"), ","), "Origin") {
				t.Errorf("%s from %s: %d %v", what, from, a.status, a.header)
			}
			for _, name := range append(slices.Clone(rateHeaders), "X-Request-Id", "X-Conversation-Id", "Retry-After") {
				if !listed(a.header.Get("Access-Control-Expose-Headers"), name) {
					t.Errorf("%s does not expose %s", what, name)
				}
			}
		}
	}
}

func listed(list, name string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(one), name) {
			return true
		}
	}
	return false
}

// The dashboard is for its own origins only.
func TestTheDashboardIsNotOpenToEveryOrigin(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"DASHBOARD_ORIGINS": "https://app.example.com"})
	anyOrigin(t, s, searchPath)
	for _, path := range []string{"/api/v1/collections", "/graphql", "/api/v1/search"} {
		for from, want := range map[string]string{"https://app.example.com": "https://app.example.com", "https://evil.example": "", "null": "", "https://app.example.com.evil.example": "", "http://app.example.com": ""} {
			preflight := s.do(t, call{"OPTIONS", path, "", []string{"Origin", from, "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "authorization"}})
			real := s.do(t, call{"GET", path, "", []string{"Origin", from, "Authorization", "Bearer " + s.token}})
			for what, a := range map[string]answer{"preflight": preflight, "request": real} {
				if got := a.header.Get("Access-Control-Allow-Origin"); got != want {
					t.Errorf("%s of %s from %s: allowed for %q", what, path, from, got)
				}
			}
		}
	}
	without := start(t, nil)
	a := without.do(t, call{"GET", "/api/v1/collections", "", []string{"Origin", "https://evil.example", "Authorization", "Bearer " + without.token}})
	if got := a.header.Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("without DASHBOARD_ORIGINS it is open to %q", got)
	}
}
