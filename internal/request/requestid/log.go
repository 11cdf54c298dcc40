package requestid

import (
	"context"
	"log/slog"
)

// LogKey is the key of the attribute with the request id.
const LogKey = "request_id"

// LogHandler returns a handler that adds the request id of the context to each line
// without one.
func LogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ slog.Handler }

func (h logHandler) Handle(ctx context.Context, record slog.Record) error {
	id := From(ctx)
	record.Attrs(func(a slog.Attr) bool {
		if a.Key == LogKey {
			id = ""
		}
		return id != ""
	})
	if id != "" {
		record = record.Clone()
		record.AddAttrs(slog.String(LogKey, id))
	}
	return h.Handler.Handle(ctx, record)
}

func (h logHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attributes)}
}

func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name)}
}
