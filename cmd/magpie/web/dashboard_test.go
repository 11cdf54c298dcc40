package web_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/cmd/magpie/web/dashboard"
)

// browser is the Accept header of a browser that opens an address.
const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

func withDashboard(t *testing.T, page bool) http.Handler {
	t.Helper()
	pages, err := dashboard.New(fstest.MapFS{
		"index.html":  {Data: []byte(`<meta property="csp-nonce" nonce="__CSP_NONCE__">4f1c the page`)},
		"favicon.svg": {Data: []byte("<svg/>")}, "assets/index-1.js": {Data: []byte("script")},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Dashboard, o.Page = pages, page
	return web.New(o)
}

func TestBrowsersGetTheDashboard(t *testing.T) {
	t.Parallel()
	h := withDashboard(t, false)
	for _, path := range []string{
		"/", "/search?q=a", "/connectors/018f3c2a-5b7e-8a91-b0c4-2d6e8f0a1b3c", "/accept-invitation", "/index.html", "/v12", "/apis", "/widget", "/assetsx", "/healthzz", "/a.b", "//", "/%2e%2e/x",
	} {
		got := ask(t, h, http.MethodGet, path, "", "Accept", browser)
		if got.status != http.StatusOK || !strings.HasSuffix(got.body, "4f1c the page") || got.header.Get("Cache-Control") != "no-store" || got.header.Get("Content-Security-Policy") == "" || got.header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %v %s", path, got.status, got.header, got.body)
		}
		if head := ask(t, h, http.MethodHead, path, "", "Accept", browser); head.status != http.StatusOK || head.body != "" || !strings.HasPrefix(head.header.Get("Content-Type"), "text/html") {
			t.Errorf("HEAD %s: %d %v", path, head.status, head.header)
		}
	}
	for path, want := range map[string]string{"/assets/index-1.js": "script", "/favicon.svg": "<svg/>"} {
		for _, accept := range []string{"*/*", browser, ""} {
			if got := ask(t, h, http.MethodGet, path, "", "Accept", accept); got.status != http.StatusOK || got.body != want {
				t.Errorf("%s for %q: %d %s", path, accept, got.status, got.body)
			}
		}
		if got := ask(t, h, http.MethodPost, path, ""); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "GET, HEAD" {
			t.Errorf("POST %s: %d", path, got.status)
		}
	}
}

func TestProgramsDoNotGetTheDashboard(t *testing.T) {
	t.Parallel()
	h := withDashboard(t, false)
	for _, accept := range []string{"", "*/*", "application/json"} {
		root := ask(t, h, http.MethodGet, "/", "", "Accept", accept)
		if root.status != http.StatusOK || !strings.Contains(root.body, `"service":"magpie"`) || root.header.Get("Vary") != "Accept" {
			t.Errorf("/ for %q: %d %v %s", accept, root.status, root.header, root.body)
		}
		if got := ask(t, h, http.MethodGet, "/search", "", "Accept", accept); got.status != http.StatusNotFound || got.code() != "not_found" {
			t.Errorf("/search for %q: %d %s", accept, got.status, got.body)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		if got := ask(t, h, method, "/search", "", "Accept", browser); got.status != http.StatusNotFound || got.code() != "not_found" {
			t.Errorf("%s /search: %d %s", method, got.status, got.body)
		}
	}
	for _, path := range []string{
		"/v1", "/v1/docs/search", "/v1/nothing", "/api", "/api/", "/api/v1", "/api/v2/x", "/graphql", "/graphql/", "/graphql/x", "/mcp", "/mcp/x", "/webhooks", "/webhooks/x", "/oauth", "/oauth/x",
		"/oauth/authorize", "/.well-known", "/.well-known/x", "/.well-known/oauth-authorization-server", "/openapi.json", "/openapi.json/x", "/widget.js", "/magpie.js", "/magpie.d.ts", "/healthz", "/healthz/x",
		"/livez", "/readyz", "/metrics", "/metrics/x", "/assets", "/assets/", "/assets/gone-2.js", "/playground", "/playground/x",
	} {
		if got := ask(t, h, http.MethodGet, path, "", "Accept", browser); strings.Contains(got.body, "4f1c the page") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := ask(t, withDashboard(t, true), http.MethodGet, "/playground/", "", "Accept", browser); got.status != http.StatusOK || strings.Contains(got.body, "4f1c the page") {
		t.Errorf("the playground: %d %s", got.status, got.body)
	}
	// A program that was built without the dashboard.
	plain := web.New(options())
	for path, status := range map[string]int{"/": http.StatusOK, "/search": http.StatusNotFound, "/assets/index-1.js": http.StatusNotFound} {
		if got := ask(t, plain, http.MethodGet, path, "", "Accept", browser); got.status != status || !strings.HasPrefix(got.header.Get("Content-Type"), "application/json") {
			t.Errorf("%s without the dashboard: %d %v", path, got.status, got.header)
		}
	}
}
