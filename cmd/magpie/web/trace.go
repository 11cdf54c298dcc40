package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/request/accesslog"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/tracing"
)

// Traces says how requests are traced. The zero value traces none.
type Traces struct {
	Tracer *tracing.Tracer
	// From are the networks whose requests continue the trace of their traceparent,
	// directly and not through a proxy. Those of others begin traces of their own.
	From config.Networks
}

// begin begins the span of a request. Requests for health, metrics and files have none,
// and neither have WebSockets, whose operations begin traces.
func (t Traces) begin(ctx context.Context, r *http.Request) (context.Context, *tracing.Span) {
	if t.Tracer == nil || isWebSocket(r) || slices.Contains([]string{alivePath, livePath, readyPath, metricsPath}, r.URL.Path) || strings.HasPrefix(r.URL.Path, "/assets/") {
		return ctx, nil
	}
	parent := ""
	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && t.From.Contain(peer.Addr()) {
		parent = r.Header.Get("Traceparent")
	}
	return t.Tracer.Begin(ctx, methodOf(r.Method), tracing.Root{Kind: tracing.Server, Parent: parent})
}

// end ends the span of a request with what its handlers have learnt.
func (Traces) end(span *tracing.Span, r *http.Request, entry *accesslog.Entry, id string, status int, aborted bool) {
	if span == nil {
		return
	}
	method := methodOf(r.Method)
	span.Set(slog.String("http.request.method", method), slog.Int("http.response.status_code", status), slog.String("magpie.request_id", id))
	if route := entry.Route(); route != "" {
		span.Rename(method + " " + route)
		span.Set(slog.String("http.route", route))
	}
	if caller := entry.Caller(); caller.Kind != "" {
		span.Set(slog.String("magpie.caller", string(caller.Kind)))
		if caller.Workspace != uuid.Nil {
			span.Set(slog.String(tracing.WorkspaceKey, caller.Workspace.String()))
		}
	}
	if aborted {
		span.Set(slog.Bool("magpie.aborted", true))
	}
	if status >= http.StatusInternalServerError {
		span.Failed(strconv.Itoa(status))
	}
	span.End(nil)
}

// maxOperationName is the maximum length of the name of an operation in bytes.
const maxOperationName = 64

// TraceOperations adds a span for each operation of a server, with its name and its
// type. An operation of a WebSocket begins a trace.
func TraceOperations(s *handler.Server, t *tracing.Tracer) {
	if t == nil {
		return
	}
	s.AroundOperations(func(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
		operation := graphql.GetOperationContext(ctx).Operation
		if operation == nil {
			return next(ctx)
		}
		name, attributes := string(operation.Operation), []slog.Attr{slog.String("graphql.operation.type", string(operation.Operation))}
		if operation.Name != "" {
			named := safetext.TruncateBytes(operation.Name, maxOperationName)
			name += " " + named
			attributes = append(attributes, slog.String("graphql.operation.name", named))
		}
		var span *tracing.Span
		if tracing.Traceparent(ctx) == "" {
			if caller := accesslog.From(ctx).Caller(); caller.Workspace != uuid.Nil {
				attributes = append(attributes, slog.String(tracing.WorkspaceKey, caller.Workspace.String()))
			}
			ctx, span = t.Begin(ctx, name, tracing.Root{Kind: tracing.Server}, attributes...)
		} else {
			ctx, span = tracing.Start(ctx, name, attributes...)
		}
		responses := next(ctx)
		if span == nil {
			return responses
		}
		isStream := operation.Operation == ast.Subscription
		if isStream { // its reader may leave before the end
			context.AfterFunc(ctx, func() { span.End(nil) })
		}
		return func(ctx context.Context) *graphql.Response {
			response := responses(ctx)
			if response != nil && len(response.Errors) > 0 {
				code, _ := response.Errors[0].Extensions["code"].(string)
				span.Failed(code)
			}
			if response == nil || !isStream {
				span.End(nil)
			}
			return response
		}
	})
}
