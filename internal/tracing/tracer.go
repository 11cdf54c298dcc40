package tracing

import (
	"context"
	"encoding/hex"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// maxSpans is the largest number of spans that a process adds to a request or a task.
// The rest is counted in an attribute of the first span.
const maxSpans = 500

// Keys of attributes that several packages set.
const (
	WorkspaceKey = "magpie.workspace_id"
	omittedKey   = "magpie.spans_omitted"
)

// A Kind is the part that a span plays for other processes.
type Kind uint8

// The kinds of spans.
const (
	Internal Kind = iota
	Server        // answers a request
	Client        // sends one
	Producer      // queues a task
	Consumer      // processes it
)

func (k Kind) option() trace.SpanKind {
	switch k {
	case Server:
		return trace.SpanKindServer
	case Client:
		return trace.SpanKindClient
	case Producer:
		return trace.SpanKindProducer
	case Consumer:
		return trace.SpanKindConsumer
	default:
		return trace.SpanKindInternal
	}
}

// Options of a Tracer.
type Options struct {
	// SendTo are the hosts to which [Transport] sends the ids of traces: names in lower
	// case, or *.name for all names below one.
	SendTo []string
}

// A Tracer begins traces. It is safe for concurrent use. A nil Tracer begins none.
type Tracer struct {
	tracer trace.Tracer
	opt    Options
}

// New returns a Tracer whose spans a provider takes.
func New(p trace.TracerProvider, o Options) *Tracer {
	return &Tracer{tracer: p.Tracer("github.com/magpie-search/magpie"), opt: o}
}

// A Root describes the first span of a request or a task.
type Root struct {
	Kind Kind
	// Parent is the W3C traceparent of the span that asked for the work. If it is empty
	// or malformed, a new trace begins.
	Parent string
	// Slow is the least duration of spans of [After] that did not fail. Of those with the
	// same name, the first few are kept even if they were quicker.
	Slow time.Duration
}

// Begin begins the part of a trace that a process has. The span is nil if it is not
// sampled. The context carries its trace also then, so that what it causes is not
// sampled either.
func (t *Tracer) Begin(ctx context.Context, name string, r Root, attributes ...slog.Attr) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(r.Kind.option())}
	parent := spanContext(r.Parent)
	if parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	} else {
		options = append(options, trace.WithNewRoot())
	}
	return t.begin(ctx, name, r.Slow, options, attributes)
}

func (t *Tracer) begin(ctx context.Context, name string, slow time.Duration, options []trace.SpanStartOption, attributes []slog.Attr) (context.Context, *Span) {
	ctx, started := t.tracer.Start(ctx, name, options...)
	s := &Span{span: started, part: &part{tracer: t, slow: slow}, isFirst: true}
	s.part.left.Store(maxSpans)
	ctx = context.WithValue(ctx, contextKey{}, s)
	if !started.IsRecording() {
		return ctx, nil
	}
	s.Set(attributes...)
	return ctx, s
}

// Restart begins a new trace for work that was not asked for by the span in the context,
// and links to it. Without a span it returns ctx.
func Restart(ctx context.Context, name string, attributes ...slog.Attr) (context.Context, *Span) {
	s, ok := ctx.Value(contextKey{}).(*Span)
	if !ok {
		return ctx, nil
	}
	return s.part.tracer.begin(ctx, name, s.part.slow,
		[]trace.SpanStartOption{trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: s.span.SpanContext()})}, attributes)
}

// A part is what a process has of a trace.
type part struct {
	tracer  *Tracer
	slow    time.Duration
	left    atomic.Int64 // spans that may be added
	omitted atomic.Int64

	mu    sync.Mutex
	quick map[string]int // spans that were quicker than slow, by name
}

// maxQuick is the largest number of spans with the same name that are kept even if they
// were quick.
const maxQuick = 5

// keeps reports whether a span of [After] that did not fail is kept.
func (p *part) keeps(name string, took time.Duration) bool {
	if took >= p.slow {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quick == nil {
		p.quick = map[string]int{}
	}
	p.quick[name]++
	return p.quick[name] <= maxQuick
}

// take reports whether another span may be added.
func (p *part) take() bool {
	if p.left.Add(-1) >= 0 {
		return true
	}
	p.omitted.Add(1)
	return false
}

// Traceparent returns the W3C traceparent of the span in the context, sampled or not;
// "" without a trace.
func Traceparent(ctx context.Context) string {
	s, ok := ctx.Value(contextKey{}).(*Span)
	if !ok {
		return ""
	}
	return traceparent(s.span.SpanContext())
}

// traceparentKey is the name of the header, and of the field of a task.
const traceparentKey = "traceparent"

func traceparent(c trace.SpanContext) string {
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + (c.TraceFlags() & trace.FlagsSampled).String()
}

// Lengths of a traceparent: 00-<trace id>-<span id>-<flags>.
const (
	traceStart, traceEnd = 3, 35
	spanStart, spanEnd   = 36, 52
	flagsStart, flagsEnd = 53, 55
)

// spanContext parses a traceparent (W3C Trace Context, level 1). That of a malformed one
// is not valid. Later versions may be longer.
func spanContext(text string) (c trace.SpanContext) {
	if len(text) < flagsEnd || text[2] != '-' || text[traceEnd] != '-' || text[spanEnd] != '-' {
		return c
	}
	version, err := hex.DecodeString(text[:2])
	if err != nil || version[0] == 0xff || version[0] == 0 && len(text) > flagsEnd || len(text) > flagsEnd && text[flagsEnd] != '-' {
		return c
	}
	traceID, traceErr := trace.TraceIDFromHex(text[traceStart:traceEnd])
	spanID, spanErr := trace.SpanIDFromHex(text[spanStart:spanEnd])
	flags, flagsErr := hex.DecodeString(text[flagsStart:flagsEnd])
	if traceErr != nil || spanErr != nil || flagsErr != nil {
		return c
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, TraceFlags: trace.TraceFlags(flags[0]) & trace.FlagsSampled, Remote: true,
	})
}

// sends reports whether a host is told the ids of traces.
func (t *Tracer) sends(host string) bool {
	host = strings.ToLower(host)
	for _, allowed := range t.opt.SendTo {
		if suffix, below := strings.CutPrefix(allowed, "*"); host == allowed || below && strings.HasSuffix(host, suffix) && len(host) > len(suffix) {
			return true
		}
	}
	return false
}
