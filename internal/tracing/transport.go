package tracing

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"
)

// Transport returns a transport that adds a span for each request, from its start until
// the header of the response. The span has the host, and neither path nor query. The
// server is told the trace only if it is one of [Options.SendTo].
func Transport(base http.RoundTripper) http.RoundTripper { return transport{base} }

type transport struct{ base http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	span := From(ctx)
	if span == nil {
		return t.base.RoundTrip(request)
	}
	host := request.URL.Hostname()
	if sent := request; span.part.tracer.sends(host) {
		request = sent.Clone(ctx) // a transport must not change the request
		request.Header.Set(traceparentKey, traceparent(span.span.SpanContext()))
	}
	start := time.Now()
	response, err := t.base.RoundTrip(request)
	attributes := []slog.Attr{slog.String("http.request.method", methodOf(request.Method)), slog.String("server.address", host)}
	if port, parseErr := strconv.Atoi(request.URL.Port()); parseErr == nil {
		attributes = append(attributes, slog.Int("server.port", port))
	}
	if response != nil {
		attributes = append(attributes, slog.Int("http.response.status_code", response.StatusCode))
	}
	After(ctx, Client, methodOf(request.Method), start, err, attributes...)
	return response, err
}

// CloseIdleConnections closes those of the base, for [http.Client].
func (t transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// methodOf returns a method of a fixed set, as the conventions ask.
func methodOf(method string) string {
	switch method {
	case "":
		return http.MethodGet
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, "PROPFIND":
		return method
	default:
		return "_OTHER"
	}
}
