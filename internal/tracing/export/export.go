package export

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/magpie-search/magpie/internal/tracing"
)

const (
	// closeTime is what the last spans get to reach the collector when the process stops.
	closeTime = 3 * time.Second
	// retryTime is how long one export is retried. Meanwhile the queue fills.
	retryTime = 20 * time.Second
	// logInterval is the time between two log messages about a collector that is away.
	logInterval = time.Minute
	// maxWaiting is the largest number of spans that wait. It is also the size of the
	// library's queue, which drops without saying so.
	maxWaiting = sdktrace.DefaultMaxQueueSize
	// maxValue is the largest number of characters of the text of an attribute.
	maxValue = 256
)

// Samplers of traces.
const (
	AlwaysOn  = "always_on"
	AlwaysOff = "always_off"
	Ratio     = "traceidratio"
)

// Options of an Exporter. URL, Timeout, Sampler and Log are required.
type Options struct {
	// URL is the address for traces, with the path.
	URL     string
	Headers map[string]string
	// Timeout is that of one request.
	Timeout time.Duration
	// Resource are the attributes of the process.
	Resource map[string]string
	Version  string // of the program
	// Sampler decides about traces that begin here. Ratio samples the share Share. With
	// ParentBased the decision of a parent counts if there is one.
	Sampler     string
	Share       float64
	ParentBased bool
	// SendTo is that of [tracing.Options].
	SendTo []string
	Log    *slog.Logger
}

// An Exporter sends spans until Close.
type Exporter struct {
	provider *sdktrace.TracerProvider
	exporter sdktrace.SpanExporter
	tracer   *tracing.Tracer
	losses   losses
}

// Losses are the numbers of spans that did not reach the collector.
type Losses struct {
	Dropped int64 // since too many waited
	Unsent  int64 // since the collector did not take them
}

// Lost returns how many spans were lost so far. Spans that wait are none of them.
func (e *Exporter) Lost() Losses {
	return Losses{Dropped: e.losses.dropped.Load(), Unsent: e.losses.unsent.Load()}
}

// New returns an Exporter. It does not connect yet.
func New(ctx context.Context, o Options) (*Exporter, error) {
	settings := []otlptracehttp.Option{
		otlptracehttp.WithEndpointURL(o.URL), otlptracehttp.WithTimeout(o.Timeout), otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second, MaxElapsedTime: retryTime}),
	}
	if len(o.Headers) > 0 {
		settings = append(settings, otlptracehttp.WithHeaders(o.Headers))
	}
	sender, err := otlptracehttp.New(ctx, settings...)
	if err != nil {
		return nil, fmt.Errorf("set up the export of traces: %w", err)
	}
	attributes := []attribute.KeyValue{attribute.String("service.version", o.Version), attribute.String("service.instance.id", uuid.NewString())}
	for name, value := range o.Resource {
		attributes = append(attributes, attribute.String(name, value))
	}
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxValue
	e := &Exporter{exporter: sender}
	e.provider = sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(&counter{SpanProcessor: sdktrace.NewBatchSpanProcessor(&reporter{SpanExporter: sender, log: o.Log, losses: &e.losses}, sdktrace.WithMaxQueueSize(maxWaiting)), losses: &e.losses}),
		sdktrace.WithResource(resource.NewSchemaless(attributes...)), sdktrace.WithSampler(o.sampler()), sdktrace.WithRawSpanLimits(limits),
	)
	e.tracer = tracing.New(e.provider, tracing.Options{SendTo: o.SendTo})
	return e, nil
}

func (o *Options) sampler() sdktrace.Sampler {
	var s sdktrace.Sampler
	switch o.Sampler {
	case AlwaysOff:
		s = sdktrace.NeverSample()
	case Ratio:
		s = sdktrace.TraceIDRatioBased(o.Share)
	default:
		s = sdktrace.AlwaysSample()
	}
	if o.ParentBased {
		s = sdktrace.ParentBased(s)
	}
	return s
}

// Tracer returns the Tracer of the process.
func (e *Exporter) Tracer() *tracing.Tracer { return e.tracer }

// Flush sends the spans that have ended.
func (e *Exporter) Flush(ctx context.Context) error { return e.provider.ForceFlush(ctx) }

// Close sends the spans that have ended, for a short time, and ends the export. Spans
// that could not be sent are lost, which is no error.
func (e *Exporter) Close(ctx context.Context) {
	closing, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	if e.provider.Shutdown(closing) != nil {
		_ = e.exporter.Shutdown(ctx) // cancels the request that runs
	}
}

// losses counts spans.
type losses struct{ waiting, dropped, unsent atomic.Int64 }

// A counter lets no more spans wait than the queue behind it has place for, and counts
// the others.
type counter struct {
	sdktrace.SpanProcessor
	losses *losses
}

// OnEnd implements [sdktrace.SpanProcessor].
func (c *counter) OnEnd(s sdktrace.ReadOnlySpan) {
	switch {
	case !s.SpanContext().IsSampled(): // the queue does not take it
	case c.losses.waiting.Add(1) > maxWaiting:
		c.losses.waiting.Add(-1)
		c.losses.dropped.Add(1)
	default:
		c.SpanProcessor.OnEnd(s)
	}
}

// A reporter logs failed exports, which the library would write to the standard error.
type reporter struct {
	sdktrace.SpanExporter
	log    *slog.Logger
	losses *losses

	mu     sync.Mutex
	logged time.Time
	lost   int // since then
}

// ExportSpans implements [sdktrace.SpanExporter].
func (r *reporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	r.losses.waiting.Add(-int64(len(spans)))
	if err == nil {
		return nil
	}
	r.losses.unsent.Add(int64(len(spans)))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost += len(spans)
	if now := time.Now(); now.Sub(r.logged) >= logInterval {
		r.log.WarnContext(ctx, "spans not sent and lost", slog.Int("spans", r.lost), slog.Any("error", err))
		r.logged, r.lost = now, 0
	}
	return nil
}
