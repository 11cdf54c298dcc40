package provider

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/tracing"
)

// Attributes of spans, by the semantic conventions for generative AI.
const (
	spanOperation = "gen_ai.operation.name"
	spanModel     = "gen_ai.request.model"
	spanInput     = "gen_ai.usage.input_tokens"
	spanOutput    = "gen_ai.usage.output_tokens"
)

// Trace adds a span for a call of a model that began at start and has just ended with
// err.
func Trace(ctx context.Context, operation, model string, start time.Time, err error, attributes ...slog.Attr) {
	if tracing.From(ctx) == nil {
		return
	}
	tracing.After(ctx, tracing.Client, operation+" "+model, start, err,
		append(attributes, slog.String(spanOperation, operation), slog.String(spanModel, model))...)
}

// StartSpan begins a span for a call of a model whose answer is a stream.
func StartSpan(ctx context.Context, operation, model string) (context.Context, *tracing.Span) {
	return tracing.StartKind(ctx, tracing.Client, operation+" "+model, slog.String(spanOperation, operation), slog.String(spanModel, model))
}

// EndSpan ends a span of StartSpan with the tokens of the call; of 0 nothing is known.
func EndSpan(span *tracing.Span, promptTokens, completionTokens int, err error) {
	if span == nil {
		return
	}
	if promptTokens > 0 {
		span.Set(slog.Int(spanInput, promptTokens))
	}
	if completionTokens > 0 {
		span.Set(slog.Int(spanOutput, completionTokens))
	}
	if failure, ok := errors.AsType[*Error](err); ok && !errors.Is(err, context.Canceled) {
		span.Failed(strings.ReplaceAll(string(failure.Kind), " ", "_"))
		err = nil
	}
	span.End(err)
}
