package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"

	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/request/accesslog"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/rest/authorize"
	"github.com/magpie-search/magpie/rest/saml"
	"github.com/magpie-search/magpie/rest/scim"
)

// maxUserAgent is the maximum length of a logged User-Agent in bytes.
const maxUserAgent = 200

// AccessLog says how finished requests are logged: at level info if Enabled, otherwise
// at level debug, as those for health and metrics always are.
type AccessLog struct {
	Enabled bool
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
}

// end logs a request whose handler has returned, a WebSocket when it is closed. The
// line has nothing that the sender has written but the user agent and the name of the
// operation. A response is aborted if the client left or the handler gave up.
func (a AccessLog) end(ctx context.Context, log *slog.Logger, r *http.Request, entry *accesslog.Entry, w *recorder, start time.Time, aborted bool) {
	level := slog.LevelDebug
	if a.Enabled && !slices.Contains([]string{alivePath, livePath, readyPath, metricsPath}, r.URL.Path) {
		level = slog.LevelInfo
	}
	if !log.Enabled(ctx, level) {
		return
	}
	status := w.status()
	line := []slog.Attr{
		slog.String(requestid.LogKey, requestid.From(ctx)), slog.String("method", methodOf(r.Method)), slog.Int("status", status),
	}
	if status != http.StatusSwitchingProtocols { // the bytes of a WebSocket are not seen here
		line = append(line, slog.Int64("bytes", w.bytes))
		aborted = aborted || r.Context().Err() != nil
	}
	if address, ok := ratelimit.Address(r, a.TrustedProxies); ok {
		line = append(line, slog.String("remote", address.String()))
	}
	if agent := r.UserAgent(); agent != "" {
		line = append(line, slog.String("user_agent", safetext.TruncateBytes(safetext.Line(agent), maxUserAgent)))
	}
	if aborted {
		line = append(line, slog.Bool("aborted", true))
	}
	ctx = context.WithoutCancel(ctx)
	entry.End(func() { // without the request, which the line of a WebSocket must not keep in memory
		line = append(line, slog.Duration("took", time.Since(start)))
		log.LogAttrs(ctx, level, "request", append(line, entry.Attributes()...)...)
	})
}

// route returns the pattern of the path of a request, as far as it is known before its
// handler runs, or "" for an unknown path.
func (o *Options) route(r *http.Request) string {
	path := r.URL.Path
	switch {
	case saml.Serves(path):
		return path
	case below(path, scim.Root):
		return scim.Route(path)
	}
	for _, below := range []string{"/api/v1/webhooks/", "/api/v1/", "/v1/", "/webhooks/", "/playground/", "/assets/", "/oauth/", authorize.ResourcePath + "/", authorize.ServerPath + "/"} {
		if strings.HasPrefix(path, below) && !slices.Contains(authorize.Paths(), path) {
			return below + "*"
		}
	}
	switch {
	case path == "/" || path == graphqlPath || path == "/mcp" || path == "/openapi.json" || path == schemaPath || path == "/playground" || authorize.Serves(path),
		o.Widget.Serves(path), o.Dashboard != nil && o.Dashboard.Serves(path),
		path == alivePath || path == livePath || path == readyPath || path == metricsPath:
		return path // one of a few
	case o.navigates(r):
		return "/{page}"
	default:
		return ""
	}
}

// LogOperations adds the name and the type of each operation of a server to the access
// log.
func LogOperations(s *handler.Server) {
	s.AroundOperations(func(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
		if o := graphql.GetOperationContext(ctx).Operation; o != nil {
			accesslog.From(ctx).AddOperation(o.Name, string(o.Operation))
		}
		return next(ctx)
	})
}
