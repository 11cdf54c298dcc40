package syncjob_test

import (
	"context"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/tracing"
)

// A parentQueue keeps the spans that tasks are queued below.
type parentQueue struct {
	mu      sync.Mutex
	parents []string
}

func (q *parentQueue) Enqueue(ctx context.Context, _ queue.Task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.parents = append(q.parents, tracing.Traceparent(ctx))
	return nil
}

// The task of a scheduled sync is in the trace of its start, and starts do not share one.
func TestAScheduledSyncIsTracedFromItsStart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	spans := tracetest.NewInMemoryExporter()
	tracer := tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)), tracing.Options{})
	tasks := &parentQueue{}
	jobs := syncjob.New(f.db.Ent, tasks, f.bus, f.clock.now, syncjob.WithTracer(tracer))
	t.Cleanup(jobs.Close)
	if _, err := jobs.StartDue(t.Context()); err != nil || len(spans.GetSpans()) != 0 {
		t.Fatalf("nothing is due: %v, %d spans", err, len(spans.GetSpans()))
	}
	first, second := f.scheduled("1h", f.clock.now()), f.scheduled("1h", f.clock.now())
	f.clock.advance(30 * time.Second)
	_, err := jobs.StartDue(t.Context())
	f.must(err)
	got := map[string]string{} // traces by connector
	for _, s := range spans.GetSpans() {
		if s.Name != "schedule sync" { // a statement
			continue
		}
		if s.Parent.IsValid() {
			t.Errorf("the start is below %v", s.Parent.SpanID())
		}
		trace := ""
		for _, parent := range tasks.parents {
			if parent == "00-"+s.SpanContext.TraceID().String()+"-"+s.SpanContext.SpanID().String()+"-01" {
				trace = s.SpanContext.TraceID().String()
			}
		}
		for _, a := range s.Attributes {
			switch {
			case a.Key == "magpie.connector_id":
				got[a.Value.AsString()] = trace
			case a.Key == "magpie.schedule.late_seconds" && a.Value.AsFloat64() != 30:
				t.Errorf("late by %v", a.Value.AsFloat64())
			}
		}
	}
	one, two := got[first.ID.String()], got[second.ID.String()]
	if len(got) != 2 || len(tasks.parents) != 2 || one == "" || two == "" || one == two {
		t.Errorf("the traces are %v, the parents of the tasks %v", got, tasks.parents)
	}
}
