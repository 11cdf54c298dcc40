package tracing

import (
	"context"
	"log/slog"
)

// LogKey is the key of the attribute with the id of a trace.
const LogKey = "trace_id"

// LogHandler returns a handler that adds the id of the trace in the context to each
// line, if it is sampled.
func LogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ slog.Handler }

func (h logHandler) Handle(ctx context.Context, record slog.Record) error {
	if s := From(ctx); s != nil {
		record = record.Clone()
		record.AddAttrs(slog.String(LogKey, s.TraceID()))
	}
	return h.Handler.Handle(ctx, record)
}

func (h logHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attributes)}
}

func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
