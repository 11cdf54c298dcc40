package wire

import (
	"context"
	"log/slog"

	"github.com/magpie-search/magpie/internal/system"
	"github.com/magpie-search/magpie/internal/tracing"
	"github.com/magpie-search/magpie/internal/tracing/export"
)

// openTraces sets up the export of traces, if there is a collector. It is closed last,
// after everything that is traced.
func (a *App) openTraces(ctx context.Context) error {
	c := a.Config
	address := c.TracesURL()
	if address == "" {
		return nil
	}
	headers, err := c.TraceHeaders()
	if err != nil {
		return err
	}
	sampler, share, parent := c.TraceSampler()
	a.traces, err = export.New(ctx, export.Options{
		URL: address, Headers: headers, Timeout: c.TracesTimeout(), Resource: c.TraceResource(), Version: system.Version(),
		Sampler: sampler, Share: share, ParentBased: parent, SendTo: c.TraceparentHosts, Log: a.Log,
	})
	if err != nil {
		return err
	}
	a.closers = append(a.closers, func() error {
		a.traces.Close(context.WithoutCancel(ctx))
		return nil
	})
	a.Log.DebugContext(ctx, "traces are sent", slog.String("service", c.ServiceName), slog.String("sampler", c.TracesSampler))
	return nil
}

// Tracer returns what traces the requests and tasks of the process; nil for nothing.
func (a *App) Tracer() *tracing.Tracer {
	if a.traces == nil {
		return nil
	}
	return a.traces.Tracer()
}

// LostSpans returns how many spans did not reach the collector.
func (a *App) LostSpans() export.Losses {
	if a.traces == nil {
		return export.Losses{}
	}
	return a.traces.Lost()
}

// FlushTraces sends the spans that have ended, before the time.
func (a *App) FlushTraces(ctx context.Context) error {
	if a.traces == nil {
		return nil
	}
	return a.traces.Flush(ctx)
}
