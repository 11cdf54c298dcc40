package metrics_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/magpie-search/magpie/cmd/magpie/metrics"
	"github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/queue"
	jobs "github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
)

// read returns what m serves.
func read(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d, %v", w.Code, err)
	}
	return string(body)
}

// has fails without each of the lines.
func has(t *testing.T, got string, lines ...string) {
	t.Helper()
	present := strings.Split(got, "\n")
	for _, line := range lines {
		if !slices.Contains(present, line) {
			t.Errorf("lacks %s", line)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

func TestWorkIsCounted(t *testing.T) {
	t.Parallel()
	m := metrics.New("v1.2.3")
	m.Request("public", http.MethodGet)(http.StatusNotFound)
	m.Task("sync")(nil)
	m.Task("sync")(errors.New("no disk"))
	running := m.Task("reembed")
	start := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	m.JobEnded(jobs.Snapshot{Status: syncjob.StatusPartial, StartedAt: start, FinishedAt: start.Add(3 * time.Second), Counters: jobs.Counters{Added: 4, Failed: 1}})
	m.JobEnded(jobs.Snapshot{Status: syncjob.StatusCanceled}) // before its start
	got := read(t, m)
	has(t, got,
		`magpie_http_requests_total{method="GET",status="404",surface="public"} 1`,
		`magpie_worker_tasks_total{outcome="ok",task="sync"} 1`,
		`magpie_worker_tasks_total{outcome="failed",task="sync"} 1`,
		`magpie_worker_tasks_running{task="reembed"} 1`,
		`magpie_worker_tasks_running{task="sync"} 0`,
		`magpie_worker_task_seconds_count{task="sync"} 2`,
		`magpie_sync_jobs_total{status="partial"} 1`,
		`magpie_sync_jobs_total{status="canceled"} 1`,
		`magpie_sync_jobs_total{status="completed"} 0`,
		`magpie_sync_job_seconds_sum 3`,
		`magpie_sync_job_seconds_count 1`,
		`magpie_sync_items_total{outcome="added"} 4`,
		`magpie_sync_items_total{outcome="failed"} 1`,
	)
	if !strings.Contains(got, `version="v1.2.3"} 1`) {
		t.Error("the version is missing")
	}
	running(nil)
	has(t, read(t, m), `magpie_worker_tasks_running{task="reembed"} 0`)
}

func TestCallsHaveTheirOutcome(t *testing.T) {
	t.Parallel()
	m := metrics.New("test")
	observe := m.Calls("chat", "large")
	has(t, read(t, m), `magpie_model_calls_total{kind="chat",model="large",outcome="ok"} 0`)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, call := range []struct {
		ctx context.Context
		err error
	}{
		{t.Context(), nil},
		{canceled, context.Canceled},
		{canceled, &provider.Error{Kind: provider.KindTimeout}}, // its own time was up
		{t.Context(), &provider.Error{Kind: provider.KindRateLimited}},
		{t.Context(), errors.New("something else")},
	} {
		observe.Begin(call.ctx)(call.ctx, call.err)
	}
	has(t, read(t, m),
		`magpie_model_calls_total{kind="chat",model="large",outcome="ok"} 1`,
		`magpie_model_calls_total{kind="chat",model="large",outcome="canceled"} 1`,
		`magpie_model_calls_total{kind="chat",model="large",outcome="timeout"} 1`,
		`magpie_model_calls_total{kind="chat",model="large",outcome="rate_limited"} 1`,
		`magpie_model_calls_total{kind="chat",model="large",outcome="failed"} 1`,
		`magpie_model_call_seconds_count{kind="chat",model="large"} 5`,
	)
}

func TestQueuesAreReadSeldomAndNeverWaitedForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New("test")
		reads, err, wait := 0, error(nil), time.Duration(0)
		m.Queues(func() (metrics.Queues, error) {
			reads++
			testkit.Advance(t, wait)
			return metrics.Queues{States: []*queue.State{{Name: queue.Queue, Pending: reads, Archived: 7, OldestSeconds: 1.5}}, Workers: 2}, err
		})
		first := read(t, m)
		has(t, first, `magpie_queue_tasks{queue="magpie",state="pending"} 1`, `magpie_queue_tasks{queue="magpie",state="archived"} 7`,
			`magpie_queue_oldest_seconds{queue="magpie"} 1.5`, "magpie_queue_workers 2")
		if read(t, m); reads != 1 {
			t.Errorf("%d reads at once", reads)
		}
		synctest.Wait()
		testkit.Advance(t, 6*time.Second)
		err = errors.New("Redis is away")
		if got := read(t, m); strings.Contains(got, "magpie_queue_") || reads != 2 {
			t.Errorf("old numbers after %d reads:\n%s", reads, got)
		}
		synctest.Wait()
		testkit.Advance(t, 6*time.Second)
		err, wait = nil, time.Minute
		for range 2 { // the second does not begin another read
			began := time.Now()
			if got := read(t, m); strings.Contains(got, "magpie_queue_") || time.Since(began) > 3*time.Second || reads != 3 {
				t.Errorf("after %s and %d reads:\n%s", time.Since(began), reads, got)
			}
		}
		testkit.Advance(t, time.Minute)
		has(t, read(t, m), `magpie_queue_tasks{queue="magpie",state="pending"} 3`)
	})
}

func TestTheProgressOfModelChangesIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New("test")
		reads, passages, embedded, err := 0, 200, 50, error(nil)
		m.ModelChanges(func() ([]metrics.ModelChange, error) {
			reads++
			return []metrics.ModelChange{
				{Model: "small", Collections: 3, Failing: 1, Passages: &passages, Embedded: &embedded, FailedAt: time.Now().Add(-90 * time.Second)},
				{Model: "large", Collections: 1},
			}, err
		})
		got := read(t, m)
		has(t, got, `magpie_embedding_change_collections{model="small"} 3`, `magpie_embedding_change_collections_failing{model="small"} 1`,
			`magpie_embedding_change_passages{model="small"} 200`, `magpie_embedding_change_passages_embedded{model="small"} 50`,
			`magpie_embedding_change_failure_seconds{model="small"} 90`, `magpie_embedding_change_collections{model="large"} 1`,
			`magpie_embedding_change_failure_seconds{model="large"} 0`)
		if strings.Contains(got, `passages{model="large"}`) || strings.Contains(got, `passages_embedded{model="large"}`) {
			t.Errorf("passages that were not counted:\n%s", got)
		}
		if read(t, m); reads != 1 {
			t.Errorf("%d reads within a minute", reads)
		}
		synctest.Wait()
		testkit.Advance(t, 61*time.Second)
		err = errors.New("PostgreSQL is away")
		if got := read(t, m); strings.Contains(got, "magpie_embedding_change_") || reads != 2 {
			t.Errorf("old numbers after %d reads:\n%s", reads, got)
		}
	})
}

func TestTheEngineIsWatched(t *testing.T) {
	t.Parallel()
	m := metrics.New("test")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	m.EngineCall("search")(t.Context(), nil)
	m.EngineCall("search")(canceled, context.Canceled)
	m.EngineCall("put")(t.Context(), errors.New("full"))
	var err error
	m.Projections(func() (index.ProjectionTotals, error) {
		return index.ProjectionTotals{Building: 1, Ready: 2, LagChanges: 7, Lag: 90 * time.Second}, err
	})
	has(t, read(t, m), `magpie_engine_errors_total{operation="search"} 0`, `magpie_engine_errors_total{operation="put"} 1`,
		`magpie_engine_call_seconds_count{operation="search"} 1`, `magpie_engine_collections{state="building"} 1`,
		`magpie_engine_collections{state="ready"} 2`, `magpie_engine_collections{state="failed"} 0`, `magpie_engine_lag_changes 7`, `magpie_engine_lag_seconds 90`)
	err = errors.New("PostgreSQL is away")
	m.Projections(func() (index.ProjectionTotals, error) { return index.ProjectionTotals{}, err })
	if got := read(t, m); strings.Contains(got, "magpie_engine_lag") {
		t.Errorf("numbers that could not be read:\n%s", got)
	}
}

func TestReadinessIsReadSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New("test")
		checks, err := 0, error(nil)
		m.Ready(map[string]func(context.Context) error{
			"redis":    func(context.Context) error { checks++; return err },
			"database": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, // never answers
		})
		for range 2 {
			has(t, read(t, m), `magpie_ready{part="redis"} 1`, `magpie_ready{part="database"} 0`)
		}
		if checks != 1 {
			t.Errorf("%d checks at once", checks)
		}
		testkit.Advance(t, 6*time.Second)
		err = errors.New("Redis is away")
		has(t, read(t, m), `magpie_ready{part="redis"} 0`)
	})
}

func TestAProcessMayServeTwice(t *testing.T) {
	t.Parallel()
	m := metrics.New("test")
	for _, value := range []float64{1, 2} {
		m.Gauge("graphql", "websockets", "Open WebSockets.", func() float64 { return value })
		m.Counter("search", "loads_total", "Loads.", func() float64 { return value })
		m.Queues(func() (metrics.Queues, error) {
			return metrics.Queues{States: []*queue.State{{Name: "q", Active: int(value)}}}, nil
		})
	}
	has(t, read(t, m), "magpie_graphql_websockets 2", "magpie_search_loads_total 2", `magpie_queue_tasks{queue="q",state="active"} 2`)
}

func TestMetricsKeepToTheConventions(t *testing.T) {
	t.Parallel()
	m := metrics.New("test")
	m.Request("public", http.MethodGet)(http.StatusOK)
	m.Task("sync")(nil)
	m.JobEnded(jobs.Snapshot{Status: syncjob.StatusCompleted})
	m.Calls("chat", "m").Begin(t.Context())(t.Context(), nil)
	m.Queues(func() (metrics.Queues, error) { return metrics.Queues{States: []*queue.State{{Name: "q"}}}, nil })
	m.ModelChanges(func() ([]metrics.ModelChange, error) {
		return []metrics.ModelChange{{Model: "m", Passages: new(1), Embedded: new(1)}}, nil
	})
	m.Ready(map[string]func(context.Context) error{"redis": func(context.Context) error { return nil }})
	m.EngineCall("put")(t.Context(), errors.New("full"))
	m.Projections(func() (index.ProjectionTotals, error) { return index.ProjectionTotals{}, nil })
	problems, err := promlint.New(strings.NewReader(read(t, m))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
