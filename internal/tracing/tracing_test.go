package tracing_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/magpie-search/magpie/internal/tracing"
)

// recording returns a tracer and what it has recorded.
func recording(t *testing.T, s sdktrace.Sampler, o tracing.Options) (*tracing.Tracer, func() tracetest.SpanStubs) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans), sdktrace.WithSampler(s))
	return tracing.New(provider, o), spans.GetSpans
}

// attributes returns the attributes of a span as text.
func attributes(s *tracetest.SpanStub) string {
	var out []string
	for _, a := range s.Attributes {
		out = append(out, string(a.Key)+"="+a.Value.String())
	}
	return strings.Join(out, " ")
}

// named returns the spans with a name.
func named(all tracetest.SpanStubs, name string) (out []*tracetest.SpanStub) {
	for i := range all {
		if all[i].Name == name {
			out = append(out, &all[i])
		}
	}
	return out
}

func TestNothingIsDoneWithoutATrace(t *testing.T) {
	t.Parallel()
	var none *tracing.Tracer
	ctx, span := none.Begin(t.Context(), "request", tracing.Root{})
	below, child := tracing.Start(ctx, "child")
	again, restarted := tracing.Restart(below, "again")
	tracing.After(again, tracing.Client, "call", time.Now(), errors.New("away"))
	for _, s := range []*tracing.Span{span, child, restarted, tracing.From(again)} {
		s.Set(slog.Int("n", 1))
		s.Rename("x")
		s.Failed("x")
		s.End(errors.New("failed"))
		if s != nil {
			t.Error("there is a span")
		}
	}
	if again != t.Context() || tracing.Traceparent(again) != "" {
		t.Error("the context was changed")
	}
}

const remote = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestATraceparentIsContinuedIfItIsWellFormed(t *testing.T) {
	t.Parallel()
	for parent, continues := range map[string]bool{
		remote: true,
		strings.Replace(remote, "00-", "cc-", 1) + "-what-the-future-will-be": true,
		"":                                   false,
		remote + "-more":                     false,
		remote[:54]:                          false,
		"ff" + remote[2:]:                    false,
		strings.ToUpper(remote):              false,
		strings.ReplaceAll(remote, "-", "_"): false,
		"00-" + strings.Repeat("0", 32) + remote[35:]:       false,
		remote[:36] + strings.Repeat("0", 16) + remote[52:]: false,
		"00-0af7651916cd43dd8448eb211c80319x" + remote[35:]: false,
		remote[:53] + "zz": false,
	} {
		tracer, spans := recording(t, sdktrace.ParentBased(sdktrace.AlwaysSample()), tracing.Options{})
		_, span := tracer.Begin(t.Context(), "request", tracing.Root{Kind: tracing.Server, Parent: parent})
		span.End(nil)
		all := spans()
		if len(all) != 1 {
			t.Fatalf("%q: %d spans", parent, len(all))
		}
		got := all[0].SpanContext.TraceID().String() == "0af7651916cd43dd8448eb211c80319c" && all[0].Parent.SpanID().String() == "b7ad6b7169203331"
		if got != continues {
			t.Errorf("%q: continued: %v", parent, got)
		}
		if again := tracing.Traceparent(t.Context()); again != "" {
			t.Errorf("the context of the caller has %q", again)
		}
	}
}

func TestWhatIsNotSampledIsNotSampledLaterEither(t *testing.T) {
	t.Parallel()
	tracer, spans := recording(t, sdktrace.ParentBased(sdktrace.NeverSample()), tracing.Options{})
	ctx, span := tracer.Begin(t.Context(), "request", tracing.Root{Kind: tracing.Server})
	below, child := tracing.Start(ctx, "child")
	parent := tracing.Traceparent(below)
	if span != nil || child != nil || !strings.HasSuffix(parent, "-00") {
		t.Errorf("%v, %v, traceparent %q", span, child, parent)
	}
	other, all := recording(t, sdktrace.ParentBased(sdktrace.AlwaysSample()), tracing.Options{})
	if _, span := other.Begin(t.Context(), "task", tracing.Root{Kind: tracing.Consumer, Parent: parent}); span != nil {
		t.Error("the task of a request that is not sampled is")
	}
	if n := len(spans()) + len(all()); n > 0 {
		t.Errorf("%d spans", n)
	}
}

func TestSpansAreBelowEachOtherAndBounded(t *testing.T) {
	t.Parallel()
	tracer, spans := recording(t, sdktrace.AlwaysSample(), tracing.Options{})
	ctx, first := tracer.Begin(t.Context(), "task", tracing.Root{Kind: tracing.Consumer}, slog.String("id", "7"))
	below, child := tracing.Start(ctx, "page", slog.Duration("took", 1500*time.Millisecond), slog.Bool("done", true), slog.Float64("share", 0.5), slog.Any("level", slog.LevelWarn))
	for range 600 {
		_, s := tracing.Start(below, "item")
		s.End(nil)
	}
	child.End(nil)
	linked, again := tracing.Restart(below, "other")
	again.End(nil)
	first.End(nil)
	all := spans()
	if len(all) != 502 || len(named(all, "item")) != 499 { // 500 below the first, and the restarted one
		t.Errorf("%d spans, %d items", len(all), len(named(all, "item")))
	}
	task, page, item, other := named(all, "task")[0], named(all, "page")[0], named(all, "item")[0], named(all, "other")[0]
	if got := attributes(task); got != "id=7 magpie.spans_omitted=101" {
		t.Errorf("the first span has %s", got)
	}
	if got := attributes(page); got != "took=1.5 done=true share=0.5 level=WARN" {
		t.Errorf("the page has %s", got)
	}
	if page.Parent.SpanID() != task.SpanContext.SpanID() || item.Parent.SpanID() != page.SpanContext.SpanID() || item.SpanContext.TraceID() != task.SpanContext.TraceID() {
		t.Error("the spans are not below each other")
	}
	if other.SpanContext.TraceID() == task.SpanContext.TraceID() || len(other.Links) != 1 || other.Links[0].SpanContext.SpanID() != page.SpanContext.SpanID() || tracing.From(linked) == nil {
		t.Errorf("restarted: %+v", other)
	}
}

func TestOfQuickWorkTheFirstSpansAreKept(t *testing.T) {
	t.Parallel()
	tracer, spans := recording(t, sdktrace.AlwaysSample(), tracing.Options{})
	ctx, first := tracer.Begin(t.Context(), "task", tracing.Root{Kind: tracing.Consumer, Slow: time.Minute})
	now := time.Now()
	for range 20 {
		tracing.After(ctx, tracing.Internal, "quick", now, nil)
		tracing.After(ctx, tracing.Internal, "other", now, nil)
	}
	for range 7 {
		tracing.After(ctx, tracing.Internal, "slow", now.Add(-time.Hour), nil)
		tracing.After(ctx, tracing.Internal, "failed", now, errors.New("hush"))
	}
	first.End(nil)
	all := spans()
	for name, want := range map[string]int{"quick": 5, "other": 5, "slow": 7, "failed": 7} {
		if got := len(named(all, name)); got != want {
			t.Errorf("%d spans %s, want %d", got, name, want)
		}
	}
	if slow := named(all, "slow")[0]; slow.EndTime.Sub(slow.StartTime) < time.Hour {
		t.Errorf("it took %s", slow.EndTime.Sub(slow.StartTime))
	}
}

type typedError struct{}

func (*typedError) Error() string { return "hush" }

func TestErrorsAreTracedByKindAndWithoutText(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"error.type=*tracing_test.typedError": fmt.Errorf("hush: %w", errors.Join(&typedError{}, errors.New("hush"))),
		"error.type=*errors.errorString":      fmt.Errorf("hush: %w", errors.New("hush")),
		"error.type=canceled":                 fmt.Errorf("hush: %w", context.Canceled),
		"error.type=timeout":                  fmt.Errorf("hush: %w", context.DeadlineExceeded),
		"":                                    nil,
	} {
		tracer, spans := recording(t, sdktrace.AlwaysSample(), tracing.Options{})
		_, span := tracer.Begin(t.Context(), "request", tracing.Root{})
		span.End(err)
		all := spans()
		if got := attributes(&all[0]); got != want || strings.Contains(fmt.Sprintf("%+v", all), "hush") {
			t.Errorf("%v: %s, %+v", err, got, all)
		}
	}
}

func TestOnlyNamedHostsAreToldTheTrace(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Traceparent")
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(server.Close)
	base := &http.Transport{}
	client := &http.Client{Transport: tracing.Transport(base)}
	t.Cleanup(client.CloseIdleConnections)
	send := func(ctx context.Context) string {
		t.Helper()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/hush?hush=hush", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return <-got
	}
	for hosts, told := range map[string]bool{"": false, "127.0.0.1": true, "*.0.0.1": true, "*.0.1": true, "0.0.1": false, "*.127.0.0.1": false} {
		tracer, spans := recording(t, sdktrace.AlwaysSample(), tracing.Options{SendTo: []string{hosts}})
		ctx, span := tracer.Begin(t.Context(), "request", tracing.Root{})
		if parent := send(ctx); parent != "" != told || told && parent != tracing.Traceparent(ctx) {
			t.Errorf("hosts %q: traceparent %q", hosts, parent)
		}
		span.End(nil)
		all := spans()
		call := named(all, "GET")
		if len(call) != 1 || !strings.Contains(attributes(call[0]), "http.response.status_code=418") || !strings.Contains(attributes(call[0]), "server.address=127.0.0.1") {
			t.Fatalf("%+v", all)
		}
		if strings.Contains(fmt.Sprintf("%+v", all), "hush") {
			t.Errorf("the path is traced: %+v", all)
		}
	}
	if parent := send(t.Context()); parent != "" {
		t.Errorf("without a trace the server is told %q", parent)
	}
}

func TestLogLinesHaveTheTraceThatCanBeFound(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(tracing.LogHandler(slog.NewTextHandler(&out, nil))).With("part", "x")
	sampled, _ := recording(t, sdktrace.AlwaysSample(), tracing.Options{})
	unsampled, _ := recording(t, sdktrace.NeverSample(), tracing.Options{})
	ctx, _ := sampled.Begin(t.Context(), "request", tracing.Root{Parent: remote})
	log.InfoContext(ctx, "sampled")
	ctx, _ = unsampled.Begin(t.Context(), "request", tracing.Root{})
	log.InfoContext(ctx, "unsampled")
	log.InfoContext(t.Context(), "none")
	lines := strings.Split(out.String(), "\n")
	if !strings.Contains(lines[0], "trace_id=0af7651916cd43dd8448eb211c80319c") || strings.Contains(lines[1]+lines[2], "trace_id") {
		t.Errorf("%q", lines)
	}
}

// A request that is not traced must not pay for tracing.
func BenchmarkStartWithoutATrace(b *testing.B) {
	ctx := context.Background()
	for range 20 { // as deep as that of a request
		ctx = context.WithValue(ctx, new(int), 1)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, span := tracing.Start(ctx, "search rank")
		span.End(nil)
	}
}

func BenchmarkStartSampled(b *testing.B) {
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(tracetest.NewNoopExporter()))
	b.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	tracer := tracing.New(provider, tracing.Options{})
	b.ReportAllocs()
	for b.Loop() {
		ctx, first := tracer.Begin(context.Background(), "request", tracing.Root{})
		_, span := tracing.Start(ctx, "search rank")
		span.End(nil)
		first.End(nil)
	}
}
