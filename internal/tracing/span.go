package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// A Span is a piece of work. It is safe for concurrent use. The methods of a nil Span do
// nothing.
type Span struct {
	span    trace.Span
	part    *part
	isFirst bool // of its part
}

type contextKey struct{}

// From returns the span in the context; nil if there is none or if it is not sampled.
func From(ctx context.Context) *Span {
	s, ok := ctx.Value(contextKey{}).(*Span)
	if !ok || !s.span.SpanContext().IsSampled() {
		return nil
	}
	return s
}

// Start begins a span below the one in the context. Without a sampled one it returns ctx
// and nil.
func Start(ctx context.Context, name string, attributes ...slog.Attr) (context.Context, *Span) {
	return StartKind(ctx, Internal, name, attributes...)
}

// StartKind is Start for a span of a kind.
func StartKind(ctx context.Context, k Kind, name string, attributes ...slog.Attr) (context.Context, *Span) {
	parent := From(ctx)
	if parent == nil || !parent.part.take() {
		return ctx, nil
	}
	ctx, started := parent.part.tracer.tracer.Start(ctx, name, trace.WithSpanKind(k.option()))
	s := &Span{span: started, part: parent.part}
	s.Set(attributes...)
	return context.WithValue(ctx, contextKey{}, s), s
}

// After adds a span for work that began at start and has just ended with err, below the
// span in the context. It may be left out if the work was quick, by [Root.Slow], and did
// not fail.
func After(ctx context.Context, k Kind, name string, start time.Time, err error, attributes ...slog.Attr) {
	parent := From(ctx)
	if parent == nil {
		return
	}
	end := time.Now()
	if err == nil && !parent.part.keeps(name, end.Sub(start)) || !parent.part.take() {
		return
	}
	_, added := parent.part.tracer.tracer.Start(ctx, name, trace.WithSpanKind(k.option()), trace.WithTimestamp(start))
	s := &Span{span: added, part: parent.part}
	s.Set(attributes...)
	s.fail(err)
	added.End(trace.WithTimestamp(end))
}

// Rename gives the span another name.
func (s *Span) Rename(name string) {
	if s != nil {
		s.span.SetName(name)
	}
}

// Set sets attributes. Durations become seconds.
func (s *Span) Set(attributes ...slog.Attr) {
	if s == nil || len(attributes) == 0 {
		return
	}
	converted := make([]attribute.KeyValue, len(attributes))
	for i, a := range attributes {
		converted[i] = convert(a)
	}
	s.span.SetAttributes(converted...)
}

func convert(a slog.Attr) attribute.KeyValue {
	switch v := a.Value; v.Kind() {
	case slog.KindInt64:
		return attribute.Int64(a.Key, v.Int64())
	case slog.KindFloat64:
		return attribute.Float64(a.Key, v.Float64())
	case slog.KindBool:
		return attribute.Bool(a.Key, v.Bool())
	case slog.KindDuration:
		return attribute.Float64(a.Key, v.Duration().Seconds())
	default:
		return attribute.String(a.Key, v.String())
	}
}

// End ends the span, which has failed if err is not nil. Further calls do nothing.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	s.fail(err)
	if omitted := s.part.omitted.Load(); s.isFirst && omitted > 0 {
		s.span.SetAttributes(attribute.Int64(omittedKey, omitted))
	}
	s.span.End()
}

// Failed marks the span as failed for a reason, a word such as an HTTP status.
func (s *Span) Failed(reason string) {
	if s == nil {
		return
	}
	s.span.SetAttributes(attribute.String("error.type", reason))
	s.span.SetStatus(codes.Error, "")
}

// fail sets the kind of an error. Its text may quote what is secret.
func (s *Span) fail(err error) {
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		s.span.SetAttributes(attribute.String("error.type", "canceled")) // nobody waits for it; that is no failure
	case errors.Is(err, context.DeadlineExceeded):
		s.Failed("timeout")
	default:
		s.Failed(errorType(err))
	}
}

// errorType returns the Go type of the first error of a chain that says more than that
// it wraps another one.
func errorType(err error) string {
	for {
		name := fmt.Sprintf("%T", err)
		var next error
		switch wrapping := err.(type) { //nolint:errorlint // this walks the chain
		case interface{ Unwrap() error }:
			next = wrapping.Unwrap()
		case interface{ Unwrap() []error }:
			if all := wrapping.Unwrap(); len(all) > 0 {
				next = all[0]
			}
		}
		if next == nil || name != "*fmt.wrapError" && name != "*fmt.wrapErrors" && name != "*errors.joinError" {
			return name
		}
		err = next
	}
}

// TraceID returns the id of the trace in hexadecimal digits; "" for a nil Span.
func (s *Span) TraceID() string {
	if s == nil {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}
