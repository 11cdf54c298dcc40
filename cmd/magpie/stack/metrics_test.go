package stack_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/internal/testkit"
)

// checkMetrics fails where a response of /metrics does not keep to Prometheus'
// conventions or has what docs/monitoring.md does not name. It returns the names of
// Magpie's own metrics.
func checkMetrics(t *testing.T, response *http.Response) []string {
	t.Helper()
	exposition, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v, %d", err, response.StatusCode)
	}
	problems, err := promlint.New(strings.NewReader(string(exposition))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	described, err := os.ReadFile("../../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (magpie_\w+) `).FindAllStringSubmatch(string(exposition), -1) {
		own = append(own, found[1])
		if !strings.Contains(string(described), "`"+found[1]+"`") {
			t.Errorf("docs/monitoring.md does not name %s", found[1])
		}
	}
	return own
}

func TestMetricsKeepToPrometheusConventions(t *testing.T) {
	t.Parallel()
	s := start(t)
	if own := checkMetrics(t, s.request(http.MethodGet, "/metrics", "", nil)); len(own) < 29 {
		t.Errorf("only %d metrics of Magpie's own: %v", len(own), own)
	}
}

// With a replica, which was promoted here, and a search engine, which is away, there are further metrics.
func TestMetricsOfReplicasAndTheEngineKeepToPrometheusConventions(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"DATABASE_READ_URL": testkit.Database(t).AppURL, "ENGINE_URL": "http://127.0.0.1:1", "ENGINE_API_KEY": "key"})
	s.app.Metrics.EngineCall("put")(t.Context(), errors.New("away"))
	own := checkMetrics(t, s.request(http.MethodGet, "/metrics", "", nil))
	for _, name := range []string{
		"database_reads_total", "database_replica_used", "database_replica_lag_seconds", "database_replica_lag_bytes",
		"engine_searches_total", "engine_fallbacks_total", "engine_objects_total", "engine_errors_total", "engine_call_seconds",
	} {
		if !slices.Contains(own, "magpie_"+name) {
			t.Errorf("%s is missing among %v", name, own)
		}
	}
}

// An addressLog passes the address at which a process listens.
type addressLog struct {
	slog.Handler
	addresses chan string
}

func (a addressLog) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(attribute slog.Attr) bool {
		if r.Message == "listening" && attribute.Key == "address" {
			a.addresses <- attribute.Value.String()
		}
		return true
	})
	return a.Handler.Handle(ctx, r)
}

// A worker serves its health and its metrics at an address of its own, and profiles at
// another one, until it stops. It does not wait for a profile that somebody takes. A
// server has profiles, too.
func TestAWorkerServesHealthAndMetrics(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := *s.app.Config
	c.WorkerListenAddr, c.PprofAddr = "127.0.0.1:0", ":0"
	log := addressLog{slog.NewTextHandler(t.Output(), nil), make(chan string, 2)}
	life, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- stack.RunWorker(life, &c, slog.New(log)) }()
	base, profiles := "http://"+<-log.addresses, <-log.addresses
	get := func(path string) *http.Response {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := s.http.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	own := checkMetrics(t, get("/metrics")) // waits for the start
	for _, name := range []string{"magpie_build_info", "magpie_queue_tasks", "magpie_sync_jobs_total", "magpie_database_connections"} {
		if !strings.Contains(strings.Join(own, " "), name) {
			t.Errorf("%s is missing among %v", name, own)
		}
	}
	if ready := get("/readyz"); ready.StatusCode != http.StatusOK {
		t.Errorf("/readyz is %d", ready.StatusCode)
	}
	if missing := get("/debug/pprof/"); missing.StatusCode != http.StatusNotFound {
		t.Errorf("profiles are beside health: %d", missing.StatusCode)
	}
	taken := c
	taken.WorkerListenAddr, taken.PprofAddr = "", profiles
	if err := stack.RunWorker(t.Context(), &taken, slog.New(slog.DiscardHandler)); !errors.Is(err, web.ErrInUse) || !strings.Contains(err.Error(), "PPROF_ADDR") {
		t.Errorf("with an address that is in use: %v", err)
	}
	taken.ListenAddr = "127.0.0.1:0"
	if err := stack.RunHTTP(t.Context(), &taken, slog.New(slog.DiscardHandler), "test", nil); !errors.Is(err, web.ErrInUse) || !strings.Contains(err.Error(), "PPROF_ADDR") {
		t.Errorf("serving with an address that is in use: %v", err)
	}
	taken.PprofAddr, taken.DrainTime = ":0", 0
	serving, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- stack.RunHTTP(serving, &taken, slog.New(log), "test", nil) }()
	base = "http://" + <-log.addresses
	if got := get("/debug/pprof/heap"); got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("the profile of a server is %s", got.Status)
	}
	end()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(profiles, "127.0.0.1:") {
		t.Errorf("profiles are served at %s", profiles)
	}
	base = "http://" + profiles
	for path, want := range map[string]int{"/debug/pprof/": http.StatusOK, "/debug/pprof/goroutine?debug=1": http.StatusOK, "/debug/pprof/cmdline": http.StatusNotFound, "/healthz": http.StatusNotFound, "/": http.StatusNotFound} {
		if got := get(path); got.StatusCode != want {
			t.Errorf("%s is %d, want %d", path, got.StatusCode, want)
		}
	}
	began := time.Now()
	long := make(chan struct{})
	go func() {
		defer close(long)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/debug/pprof/trace?seconds=600", http.NoBody)
		if err != nil {
			return
		}
		if response, err := s.http.Do(request); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	}()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	<-long
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("stopped after %s", took)
	}
}
