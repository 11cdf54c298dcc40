package export_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/testkit/collector"
	"github.com/magpie-search/magpie/internal/tracing"
	"github.com/magpie-search/magpie/internal/tracing/export"
)

func open(t *testing.T, o export.Options) *export.Exporter {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e, err := export.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestSpansReachTheCollectorWhenTheProcessStops(t *testing.T) {
	t.Parallel()
	c := collector.Start(t)
	e := open(t, export.Options{
		URL: c.URL, Headers: map[string]string{"X-Team": "search"}, Resource: map[string]string{"service.name": "magpie", "deployment": "test"}, Version: "1.2.3", Sampler: export.AlwaysOn,
	})
	ctx, span := e.Tracer().Begin(t.Context(), "request", tracing.Root{Kind: tracing.Server}, slog.String("long", strings.Repeat("x", 1000)))
	_, child := tracing.Start(ctx, "child")
	child.End(nil)
	span.End(nil)
	e.Close(t.Context())
	all := c.Spans()
	if len(all) != 2 || all[0].Name != "child" || all[0].Parent != all[1].ID || all[0].Trace != all[1].Trace {
		t.Fatalf("%+v", all)
	}
	request := all[1]
	for name, want := range map[string]any{"service.name": "magpie", "service.version": "1.2.3", "deployment": "test"} {
		if request.Resource[name] != want {
			t.Errorf("%s is %v, want %v", name, request.Resource[name], want)
		}
	}
	if text, _ := request.Attributes["long"].(string); len(text) != 256 {
		t.Errorf("a text of %d characters", len(text))
	}
	if c.Header().Get("X-Team") != "search" {
		t.Errorf("the collector got %v", c.Header())
	}
	if lost := e.Lost(); lost != (export.Losses{}) {
		t.Errorf("lost: %+v", lost)
	}
	e.Close(t.Context()) // again does nothing
}

func TestSamplersDecideAboutTraces(t *testing.T) {
	t.Parallel()
	const sampled, unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	c := collector.Start(t)
	for _, test := range []struct {
		name        string
		share       float64
		parentBased bool
		parent      string
		want        bool
	}{
		{export.AlwaysOn, 1, false, "", true},
		{export.AlwaysOn, 1, false, unsampled, true},
		{export.AlwaysOn, 1, true, unsampled, false},
		{export.AlwaysOff, 1, false, sampled, false},
		{export.AlwaysOff, 1, true, sampled, true},
		{export.AlwaysOff, 1, true, "", false},
		{export.Ratio, 0, true, "", false},
		{export.Ratio, 1, true, "", true},
		{export.Ratio, 0, true, sampled, true},
	} {
		e := open(t, export.Options{URL: c.URL, Sampler: test.name, Share: test.share, ParentBased: test.parentBased})
		_, span := e.Tracer().Begin(t.Context(), "request", tracing.Root{Parent: test.parent})
		if got := span != nil; got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
		e.Close(t.Context())
	}
}

// lines keeps what is logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// trace makes more spans than the queue has room for, and returns how long it took.
func trace(ctx context.Context, e *export.Exporter) time.Duration {
	start := time.Now()
	for range 5000 {
		_, span := e.Tracer().Begin(ctx, "request", tracing.Root{})
		span.End(nil)
	}
	return time.Since(start)
}

func TestASlowCollectorHoldsNothingUp(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	e := open(t, export.Options{URL: server.URL + "/v1/traces", Timeout: time.Minute, Sampler: export.AlwaysOn})
	if took := trace(t.Context(), e); took > 2*time.Second {
		t.Errorf("5000 spans took %s", took)
	}
	// The collector holds what it got; at most 2,048 spans wait for it.
	if lost := e.Lost(); lost.Dropped != 5000-2048 || lost.Unsent != 0 {
		t.Errorf("lost: %+v", lost)
	}
	start := time.Now()
	e.Close(t.Context())
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the process stopped after %s", took)
	}
}

func TestACollectorThatRefusesIsLogged(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(server.Close)
	var log lines
	e := open(t, export.Options{URL: server.URL + "/v1/traces", Headers: map[string]string{"Authorization": "hush"}, Sampler: export.AlwaysOn, Log: slog.New(slog.NewTextHandler(&log, nil))})
	trace(t.Context(), e)
	e.Close(t.Context())
	if lost := e.Lost(); lost.Dropped+lost.Unsent != 5000 || lost.Unsent < 2048 {
		t.Errorf("lost: %+v", lost)
	}
	if n := strings.Count(log.String(), "spans not sent and lost"); n != 1 || strings.Contains(log.String(), "hush") {
		t.Errorf("logged %d times: %s", n, log.String())
	}
}

func TestACollectorThatIsAwayHoldsNothingUp(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close() // nothing listens there any more
	e := open(t, export.Options{URL: server.URL + "/v1/traces", Sampler: export.AlwaysOn})
	if took := trace(t.Context(), e); took > 2*time.Second {
		t.Errorf("5000 spans took %s", took)
	}
	start := time.Now()
	e.Close(t.Context())
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the process stopped after %s", took)
	}
}
