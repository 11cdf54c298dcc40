package collector

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/magpie-search/magpie/internal/tracing"
)

// Record returns a tracer that samples everything, and what it has recorded of spans
// that have ended, without a server.
func Record(t testing.TB) (tracer *tracing.Tracer, spans func() []Span) {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
	return tracing.New(provider, tracing.Options{}), func() []Span {
		stubs := kept.GetSpans()
		all := make([]Span, len(stubs))
		for i, s := range stubs {
			all[i] = Span{
				Trace: s.SpanContext.TraceID().String(), ID: s.SpanContext.SpanID().String(), Name: s.Name, Kind: s.SpanKind.String(),
				Failed: s.Status.Code.String() == "Error", Attributes: map[string]any{}, Resource: map[string]any{},
			}
			if s.Parent.SpanID().IsValid() {
				all[i].Parent = s.Parent.SpanID().String()
			}
			for _, a := range s.Attributes {
				all[i].Attributes[string(a.Key)] = a.Value.AsInterface()
			}
			for _, link := range s.Links {
				all[i].Links = append(all[i].Links, link.SpanContext.TraceID().String())
			}
		}
		return all
	}
}

// Find returns the first span with a name. The test fails without one.
func Find(t testing.TB, all []Span, name string) Span {
	t.Helper()
	names := make([]string, len(all))
	for i, s := range all {
		if s.Name == name {
			return s
		}
		names[i] = s.Name
	}
	t.Fatalf("no span %s among %q", name, names)
	return Span{}
}
