package stack_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/collector"
	"github.com/magpie-search/magpie/internal/tracing"
)

// One trace goes from the request that starts a sync over the task to what the worker
// does. Nothing that is exported has a text, a key or an address of a person.
func TestATraceGoesFromARequestOverItsTaskToTheSync(t *testing.T) {
	t.Parallel()
	collected := collector.Start(t)
	s := start(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": strings.TrimSuffix(collected.URL, "/v1/traces"), "OTEL_SERVICE_NAME": "magpie-test",
		"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20hush", "TRACEPARENT_NETWORKS": "127.0.0.1",
	})
	lines := &requestLog{}
	app := *s.app
	app.Log = slog.New(tracing.LogHandler(slog.NewJSONHandler(lines, nil)))
	listener, err := web.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served, err := stack.Serve(t.Context(), &app, listener, "test", false)
	if err != nil {
		t.Fatal(err)
	}
	traced := &service{t: t, app: &app, url: "http://" + listener.Addr().String(), token: s.token, http: s.http}
	connector := traced.connector()
	_ = traced.upload(connector, map[string]string{"hush.md": "# Hushdocument\n\nThe hushtext of a document about sailing.\n"})
	key := traced.createKey()
	const remote = "0af7651916cd43dd8448eb211c80319c"
	send := func(id, method, path, body string, headers ...string) {
		t.Helper()
		kind := ""
		if body != "" {
			kind = "application/json"
		}
		response := traced.request(method, path, kind, strings.NewReader(body), append(headers, "X-Request-Id", id)...)
		content, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || strings.Contains(string(content), `"errors"`) {
			t.Fatalf("%s: %d %s, %v", id, response.StatusCode, content, err)
		}
	}
	sync, err := json.Marshal(map[string]any{
		"query":     `mutation StartIt($c: ID!) { startSync(connectorId: $c) { id } }`,
		"variables": map[string]any{"c": connector},
	})
	if err != nil {
		t.Fatal(err)
	}
	send("started", http.MethodPost, "/graphql", string(sync))

	var all []collector.Span
	find := func(name string, of func(collector.Span) bool) (found collector.Span) {
		t.Helper()
		for _, span := range all {
			if span.Name == name && (of == nil || of(span)) {
				return span
			}
		}
		names := make([]string, len(all))
		for i, span := range all {
			names[i] = span.Name
		}
		t.Fatalf("no span %s among %q", name, names)
		return found
	}
	started := func(span collector.Span) bool { return span.Attributes["magpie.request_id"] == "started" }
	testkit.WaitWithin(t, time.Minute, "the spans of the sync", func() bool {
		if err := app.FlushTraces(t.Context()); err != nil {
			t.Fatal(err)
		}
		all = collected.Spans()
		request := ""
		for _, span := range all {
			if span.Name == "POST /graphql" && started(span) {
				request = span.Trace
			}
		}
		for _, span := range all {
			if span.Trace == request && span.Name == "process sync" {
				return true
			}
		}
		return false
	})
	send("searched", http.MethodGet, "/v1/docs/search?query=hushquery+sailing", "", "X-Service-Key", key.SecretKey, "Traceparent", "00-"+remote+"-b7ad6b7169203331-01")
	send("signed-in", http.MethodPost, "/graphql", `{"query": "query Mine { me { role } }"}`, "Traceparent", "malformed")
	if err := served.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if err := app.FlushTraces(t.Context()); err != nil {
		t.Fatal(err)
	}
	all = collected.Spans()
	request := find("POST /graphql", started)
	in := func(span collector.Span) bool { return span.Trace == request.Trace }
	parent, last := request, request
	for _, step := range []struct{ name, kind string }{
		{"mutation StartIt", "SPAN_KIND_INTERNAL"}, {"send sync", "SPAN_KIND_PRODUCER"}, {"process sync", "SPAN_KIND_CONSUMER"},
		{"sync", "SPAN_KIND_INTERNAL"}, {"sync page", "SPAN_KIND_INTERNAL"}, {"sync fetch", "SPAN_KIND_INTERNAL"},
	} {
		last = find(step.name, in)
		if last.Parent != parent.ID || last.Kind != step.kind || last.Failed {
			t.Errorf("%s is a %s below %s, want one below %s (%s): %v", step.name, last.Kind, last.Parent, parent.Name, parent.ID, last.Attributes)
		}
		parent = last
	}
	page := find("sync page", in)
	for _, name := range []string{"sync parse", "sync embed", "sync store"} {
		if span := find(name, in); span.Parent != page.ID {
			t.Errorf("%s is below %s and not the page", name, span.Parent)
		}
	}
	if walk := find("sync walk", in); walk.Parent != find("sync", in).ID {
		t.Errorf("the walk is below %s", walk.Parent)
	}
	if request.Kind != "SPAN_KIND_SERVER" || request.Parent != "" {
		t.Errorf("the request is a %s below %q", request.Kind, request.Parent)
	}
	workspace := request.Attributes["magpie.workspace_id"]
	for span, want := range map[string]map[string]any{
		"POST /graphql": {"http.route": "/graphql", "http.request.method": "POST", "http.response.status_code": int64(200), "magpie.caller": "session"},
		"process sync":  {"messaging.system": "asynq", "messaging.operation.type": "process", "messaging.destination.name": "magpie"},
		"sync":          {"magpie.connector.kind": "file_upload", "magpie.sync.done": true, "magpie.workspace_id": workspace, "magpie.sync.failed": int64(0)},
		"sync page":     {"magpie.sync.items": int64(1)},
	} {
		got := find(span, in)
		for name, value := range want {
			if got.Attributes[name] != value || value == nil {
				t.Errorf("%s of %s is %v, want %v", name, span, got.Attributes[name], value)
			}
		}
		if got.Resource["service.name"] != "magpie-test" || got.Resource["service.version"] == nil {
			t.Errorf("resource of %s: %v", span, got.Resource)
		}
	}
	if line := lines.of(t, "started"); line["trace_id"] != request.Trace {
		t.Errorf("the line of the request has %v, want the trace %s", line["trace_id"], request.Trace)
	}

	// A search continues the trace of a caller that is trusted, and has its stages.
	search := find("GET /v1/docs/search", nil)
	if search.Trace != remote || search.Parent != "b7ad6b7169203331" || search.Attributes["magpie.caller"] != "key" {
		t.Errorf("the search: %+v", search)
	}
	for name, below := range map[string]string{
		"search admit": "search", "search open": "search", "search rank": "search", "search candidates": "search rank", "search texts": "search", "search snippets": "search",
	} {
		of := func(span collector.Span) bool { return span.Trace == remote }
		if span := find(name, of); span.Parent != find(below, of).ID {
			t.Errorf("%s is not below %s", name, below)
		}
	}
	if tier := find("search candidates", nil).Attributes["magpie.search.tier"]; tier != "resident" && tier != "stored" {
		t.Errorf("the candidates are of %v", tier)
	}
	statements := 0
	for _, span := range all {
		if span.Attributes["db.system.name"] == "postgresql" {
			statements++
		}
	}
	if statements == 0 {
		t.Error("no statement is traced")
	}
	if signedIn := find("POST /graphql", func(span collector.Span) bool { return span.Attributes["magpie.request_id"] == "signed-in" }); signedIn.Parent != "" {
		t.Errorf("a malformed traceparent was continued: %+v", signedIn)
	}
	for _, secret := range []string{"hushquery", "hushtext", "Hushdocument", "hush.md", "svc_", key.SecretKey, s.token, "example.com", "Bearer"} {
		if collected.Contains(secret) {
			t.Errorf("the traces have %q", secret)
		}
	}
	if collected.Header().Get("Authorization") != "Bearer hush" {
		t.Errorf("the collector got %v", collected.Header())
	}
}

// A stranger's traceparent is ignored, and requests for health have no spans.
func TestTheTraceOfAStrangerIsNotContinued(t *testing.T) {
	t.Parallel()
	collected := collector.Start(t)
	s := start(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": collected.URL})
	for _, path := range []string{"/healthz", "/openapi.json"} {
		_ = s.request(http.MethodGet, path, "", nil, "Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "X-Request-Id", "stranger")
	}
	var own []collector.Span
	testkit.WaitFor(t, "the span of the request", func() bool {
		if err := s.app.FlushTraces(t.Context()); err != nil {
			t.Fatal(err)
		}
		own = nil
		for _, span := range collected.Spans() {
			if span.Attributes["magpie.request_id"] == "stranger" {
				own = append(own, span)
			}
		}
		return len(own) > 0
	})
	if len(own) != 1 || own[0].Name != "GET /openapi.json" || own[0].Trace == "0af7651916cd43dd8448eb211c80319c" || own[0].Parent != "" {
		t.Errorf("%+v", own)
	}
}

// A collector that never answers, or is away, holds no request up.
func TestRequestsDoNotWaitForTheCollector(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	stuck := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the end of the request is seen
		select {
		case asked <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	}))
	t.Cleanup(stuck.Close)
	s := start(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": stuck.URL})
	flushing, cancel := context.WithCancel(t.Context())
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		_ = s.app.FlushTraces(flushing)
	}()
	<-asked
	began := time.Now()
	for range 300 {
		if response := s.request(http.MethodGet, "/openapi.json", "", nil); response.StatusCode != http.StatusOK {
			t.Fatalf("status %d", response.StatusCode)
		}
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("300 requests took %s", took)
	}
	cancel()
	<-flushed
}
