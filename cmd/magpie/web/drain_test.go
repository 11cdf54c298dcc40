package web_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/magpie-search/magpie/cmd/magpie/web"
)

// A response that starts while draining closes its connection, even if the request
// started before.
func TestAResponseWhileDrainingClosesItsConnection(t *testing.T) {
	t.Parallel()
	o := options()
	o.Drain = &web.Drain{}
	arrived, release := make(chan struct{}), make(chan struct{})
	o.REST = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		_, _ = io.WriteString(w, "late")
	})
	server := httptest.NewServer(web.New(o))
	defer server.Close()
	ask := func(path string) (status int, closes bool) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
		if err != nil {
			t.Error(err)
			return 0, false
		}
		response, err := server.Client().Do(r)
		if err != nil {
			t.Error(err)
			return 0, false
		}
		defer func() { _ = response.Body.Close() }()
		return response.StatusCode, response.Close
	}
	if status, closes := ask("/readyz"); status != http.StatusOK || closes {
		t.Errorf("before: %d, closes %v", status, closes)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if status, closes := ask("/v1/x"); status != http.StatusOK || !closes {
			t.Errorf("a request that was running: %d, closes %v", status, closes)
		}
	})
	<-arrived
	o.Drain.Begin()
	close(release)
	running.Wait()
	for path, want := range map[string]int{"/readyz": 503, "/healthz": 200, "/livez": 200, "/nowhere": 404} {
		if status, closes := ask(path); status != want || !closes {
			t.Errorf("%s: %d, closes %v", path, status, closes)
		}
	}
}

func TestReadinessDoesNotCheckExcludedParts(t *testing.T) {
	t.Parallel()
	o := options()
	o.Ready["redis"] = func(context.Context) error { return errors.New("away") }
	h := web.New(o)
	for query, want := range map[string]string{
		"":                                `503 {"parts":{"database":"ok","redis":"unavailable"},"status":"unavailable"}`,
		"?exclude=redis":                  `200 {"parts":{"database":"ok"},"status":"ok"}`,
		"?exclude=nothing":                `503 {"parts":{"database":"ok","redis":"unavailable"},"status":"unavailable"}`,
		"?exclude=redis&exclude=database": `200 {"parts":{},"status":"ok"}`,
	} {
		if a := try(h, http.MethodGet, "/readyz"+query); a != want {
			t.Errorf("%s: %s", query, a)
		}
	}
}

// try returns the status and body of a response.
func try(h http.Handler, method, path string) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, http.NoBody))
	return strings.TrimSpace(w.Result().Status[:4] + w.Body.String())
}

func TestAGateAnswersHealthAndDelaysOtherRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testGate)
}

func testGate(t *testing.T) {
	t.Helper()
	g := web.NewGate(slog.New(slog.DiscardHandler), web.AccessLog{})
	if a := try(g, http.MethodGet, "/healthz"); a != `200 {"status":"ok"}` {
		t.Error(a)
	}
	if a := try(g, http.MethodGet, "/readyz"); a != `503 {"parts":{},"status":"starting"}` {
		t.Error(a)
	}
	held := make(chan string, 1)
	go func() { held <- try(g, http.MethodGet, "/v1/docs/search") }()
	synctest.Wait()
	select {
	case a := <-held:
		t.Fatalf("a request was answered: %s", a)
	default:
	}
	g.Open(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") }))
	if a := <-held; a != "200 served" {
		t.Error(a)
	}
	if a := try(g, http.MethodGet, "/healthz"); a != "200 served" {
		t.Error(a)
	}
}

func TestAGateRejectsRequestsWithoutAPart(t *testing.T) {
	t.Parallel()
	g := web.NewGate(slog.New(slog.DiscardHandler), web.AccessLog{})
	g.Misses("database")
	for _, path := range []string{"/v1/docs/search", "/graphql"} {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, http.NoBody))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "5" || w.Header().Get("X-Request-Id") == "" || !strings.Contains(w.Body.String(), `"code":"unavailable"`) {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
	}
	if a := try(g, http.MethodGet, "/readyz"); a != `503 {"parts":{"database":"unavailable"},"status":"starting"}` {
		t.Error(a)
	}
}
