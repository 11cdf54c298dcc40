package web_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/web"
)

func TestTheAccessLogHasLinesOfBrokenAndRefusedRequests(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	o := options()
	o.LogRequests, o.Log, o.TrustedProxies = true, log, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	h := web.New(o)
	gate := web.NewGate(log, web.AccessLog{Enabled: true})
	gate.Misses("database")
	expect := func(name string, h http.Handler, path string, want []string, headers ...string) {
		t.Helper()
		out.Reset()
		func() {
			defer func() { _ = recover() }() // a response that is broken off
			ask(t, h, http.MethodGet, path, "", headers...)
		}()
		var line string
		for text := range strings.Lines(out.String()) {
			if strings.Contains(text, `msg=request `) {
				line += text
			}
		}
		for _, part := range want {
			if !strings.Contains(line, part) || strings.Count(line, "\n") != 1 {
				t.Errorf("%s: no %s in %s", name, part, line)
			}
		}
		if len(want) == 0 && line != "" {
			t.Errorf("%s: %s", name, line)
		}
		for _, secret := range []string{"hush", "secret detail"} {
			if strings.Contains(line, secret) {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	expect("a panic before the answer", h, "/v1/docs/search?query=hush", []string{"status=500", "route=/v1/*"}, "X-Panic", "early")
	expect("a panic within the answer", h, "/v1/docs/search?query=hush", []string{"status=200", "aborted=true", "bytes=11"}, "X-Panic", "late")
	expect("a wrong token", h, "/graphql", []string{"status=401", "route=/graphql"}, "Authorization", "Bearer hush")
	expect("a forged address", h, "/v1/x", []string{"remote=203.0.113.9 "}, "X-Forwarded-For", "192.0.2.1, 203.0.113.9")
	expect("an IPv6 address", h, "/v1/x", []string{"remote=2001:db8::1:2 "}, "X-Forwarded-For", "2001:db8::1:2")
	expect("a hostile agent", h, "/v1/x", []string{`user_agent="a msg=forged \"x\""`}, "User-Agent", "a\tmsg=forged \"x\"")
	expect("a page below a known one", h, "/webhooks/connectors/hush", []string{"route=/webhooks/*"})
	expect("health", h, "/readyz", nil)
	expect("metrics", h, "/metrics", nil)
	expect("while the process starts", gate, "/v1/docs/search?query=hush", []string{"status=503"})
	expect("health while the process starts", gate, "/readyz", nil)
	o.LogRequests = false
	expect("without the access log", web.New(o), "/v1/x", nil)

	out.Reset()
	h.ServeHTTP(httptest.NewRecorder(), &http.Request{Method: http.MethodGet, URL: httptest.NewRequest(http.MethodGet, "/v1/x", http.NoBody).URL, Header: http.Header{}, RemoteAddr: "@", Body: http.NoBody})
	if strings.Contains(out.String(), "remote=") {
		t.Errorf("an address from nowhere: %s", &out)
	}
}
