package queue

import (
	"context"
	"log/slog"

	"github.com/magpie-search/magpie/internal/tracing"
)

// traceHeader is the header of a task with the W3C traceparent of the span that queued
// it. Workers that do not know it ignore it.
const traceHeader = "traceparent"

// traceHeaders returns the headers of a task that is queued with ctx; nil for none.
func traceHeaders(ctx context.Context) map[string]string {
	if parent := tracing.Traceparent(ctx); parent != "" {
		return map[string]string{traceHeader: parent}
	}
	return nil
}

// Traceparent returns the W3C traceparent among the headers of a task; "" for none.
func Traceparent(headers map[string]string) string { return headers[traceHeader] }

// spanAttributes returns the attributes of a span about a task.
func spanAttributes(t Task, operation string) []slog.Attr {
	return SpanAttributes(queueOf(t), t.ID(), operation)
}

// SpanAttributes returns the attributes of a span about a task in a queue: send, or
// process.
func SpanAttributes(queue, id, operation string) []slog.Attr {
	return []slog.Attr{
		slog.String("messaging.system", "asynq"), slog.String("messaging.operation.type", operation),
		slog.String("messaging.destination.name", queue), slog.String("messaging.message.id", id),
	}
}
