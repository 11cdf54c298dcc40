package prometheus_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/integration/integrationtest"
	"github.com/magpie-search/magpie/agents/integration/prometheus"
	"github.com/magpie-search/magpie/internal/testkit"
)

// setup returns a real Prometheus with its Alertmanager behind one address.
func setup(t *testing.T) integrationtest.Setup {
	t.Helper()
	users := map[string]string{"ada": "ada-secret-1", "eve": "eve-secret-2"}
	server := testkit.Prometheus(t, users)
	proxy := func(text string) *httputil.ReverseProxy {
		target, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	}
	mux := http.NewServeMux()
	mux.Handle("/", proxy(server.URL))
	mux.Handle("/api/v2/", proxy(server.AlertmanagerURL))
	answers := func(path, text string) bool {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		r.SetBasicAuth("ada", users["ada"])
		mux.ServeHTTP(w, r)
		return strings.Contains(w.Body.String(), text)
	}
	testkit.WaitFor(t, "metrics and an alert", func() bool { return answers("/api/v1/query?query=up", `"1"`) && answers("/api/v1/alerts", "firing") })
	return integrationtest.Setup{
		Provider: prometheus.Provider(), Server: mux,
		Config:      func(url string) map[string]any { return map[string]any{"url": url, "alertmanagerUrl": url} },
		Credentials: map[string]string{"username": "ada", "password": users["ada"]}, Other: map[string]string{"username": "eve", "password": users["eve"]},
		Shared: "Prometheus has no permissions",
		Examples: map[string]integrationtest.Example{
			"query":          {Arguments: `{"query": "up", "time": "2030-01-31T12:00:00Z"}`, Want: []string{`"resultType":"vector"`}},
			"query_range":    {Arguments: `{"query": "vector(42)", "start": "2026-01-31T12:00:00Z", "end": "2026-01-31T12:02:00Z", "step_seconds": 60}`, Want: []string{"matrix", `"42"`}},
			"alerts":         {Arguments: `{}`, Want: []string{"Watchdog", "firing", "always fires"}},
			"targets":        {Arguments: `{"unhealthy_only": false}`, Want: []string{`"health":"up"`, "/metrics"}},
			"list_silences":  {Arguments: `{}`, Want: []string{"silences"}},
			"create_silence": {Arguments: `{"matchers": {"alertname": "Watchdog", "job": "a*b"}, "minutes": 30, "comment": "A planned\ntest"}`, Want: []string{"silence_id"}},
		},
	}
}

func TestPrometheusPassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, setup)
}

func TestASilenceIsFoundByItsMark(t *testing.T) {
	t.Parallel()
	f := integrationtest.Start(t, setup)
	f.Call(t, "create_silence", `{"matchers": {"alertname": "Watchdog"}, "minutes": 30, "comment": "A test"}`)
	var found struct {
		Silences []struct{ Comment string }
	}
	if err := json.Unmarshal([]byte(f.Call(t, "list_silences", `{}`)), &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Silences) != 1 || found.Silences[0].Comment != "A test\n\nmagpie-run: "+integrationtest.CallKey {
		t.Errorf("found %+v", found.Silences)
	}
	if text := f.Fails(t, "query", `{"query": "sum("}`); !strings.Contains(text, "parse error") {
		t.Errorf("a malformed query: %s", text)
	}
	if text := f.Call(t, "query", `{"query": "up"}`); !strings.Contains(text, `"job":"prometheus"`) {
		t.Errorf("a query: %s", text)
	}
}
