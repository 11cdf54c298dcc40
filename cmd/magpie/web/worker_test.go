package web_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/metrics"
	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/internal/config"
)

func TestAWorkerTellsItsHealthAndNothingElse(t *testing.T) {
	t.Parallel()
	var away error
	drain := &web.Drain{}
	h := web.NewWorker(web.WorkerOptions{
		Ready: map[string]func(context.Context) error{"redis": func(context.Context) error { return away }},
		Drain: drain, Metrics: metrics.New("test"), MetricsNetworks: config.Networks{netip.MustParsePrefix("127.0.0.0/8")},
		Log: slog.New(slog.DiscardHandler),
	})
	expect := func(when, path string, status int, contains string, headers ...string) {
		t.Helper()
		if got := ask(t, h, http.MethodGet, path, "", headers...); got.status != status || !strings.Contains(got.body, contains) {
			t.Errorf("%s, %s: %d %s", when, path, got.status, got.body)
		}
	}
	expect("at work", "/livez", http.StatusOK, `"ok"`)
	expect("at work", "/healthz", http.StatusOK, `"ok"`)
	expect("at work", "/readyz", http.StatusOK, `"redis":"ok"`)
	expect("at work", "/metrics", http.StatusOK, "magpie_build_info")
	expect("through a proxy", "/metrics", http.StatusForbidden, "not available", "X-Forwarded-For", "127.0.0.1")
	for _, path := range []string{"/", "/graphql", "/v1/search", "/api/v1/me", "/debug/pprof/"} {
		expect("at work", path, http.StatusNotFound, "not_found")
	}
	away = errors.New("dial tcp 10.1.2.3: refused")
	expect("without Redis", "/readyz", http.StatusServiceUnavailable, `"redis":"unavailable"`)
	if got := ask(t, h, http.MethodGet, "/readyz", ""); strings.Contains(got.body, "10.1.2.3") {
		t.Errorf("tells an address: %s", got.body)
	}
	away = nil
	drain.Begin()
	expect("stopping", "/readyz", http.StatusServiceUnavailable, "draining")
	expect("stopping", "/livez", http.StatusOK, `"ok"`)
}
