package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/metrics"
	"github.com/magpie-search/magpie/cmd/magpie/web/dashboard"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/request/accesslog"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/rest/authorize"
	"github.com/magpie-search/magpie/rest/saml"
	"github.com/magpie-search/magpie/rest/scim"
	"github.com/magpie-search/magpie/rest/widget"
)

// Paths that the Gate handles, too. alivePath and livePath are equivalent.
const (
	graphqlPath = "/graphql"
	alivePath   = "/healthz"
	livePath    = "/livez"
	readyPath   = "/readyz"
	metricsPath = "/metrics"
	// schemaPath is the path of the GraphQL schema in the schema definition language.
	schemaPath = "/schema.graphql"
)

// Accounts authenticates session tokens, and personal and service tokens, and knows
// which of them are active.
type Accounts interface {
	Authenticate(ctx context.Context, token string) (viewer.Viewer, error)
	// Roles returns the roles of the active ones of the sessions and tokens.
	Roles(ctx context.Context, credentials []uuid.UUID) (map[uuid.UUID]viewer.Role, error)
}

// Options configures the handler. All fields except Dashboard, Drain, Page, Traces and Version
// are required.
type Options struct {
	// GraphQL serves GraphQL operations.
	GraphQL http.Handler
	// REST serves /v1 and /api/v1.
	REST http.Handler
	// MCP serves /mcp.
	MCP http.Handler
	// Authorize serves the endpoints by which people connect programs to /mcp.
	Authorize http.Handler
	// SAML serves the addresses of sign-in by SAML.
	SAML http.Handler
	// SCIM serves the interface for directories.
	SCIM http.Handler
	// Webhooks serves /webhooks/connectors and /api/v1/webhooks.
	Webhooks http.Handler
	// OpenAPI serves /openapi.json, with its own CORS policy.
	OpenAPI http.Handler
	// Schema serves /schema.graphql, the GraphQL schema in the schema definition language,
	// with its own CORS policy.
	Schema http.Handler
	// Widget serves the scripts for websites.
	Widget *widget.Handler
	// Dashboard serves the pages for browsers; nil if the program has none.
	Dashboard *dashboard.Handler
	// Accounts authenticates the callers of /graphql.
	Accounts Accounts
	// CrossOrigin is the CORS policy of /graphql.
	CrossOrigin func(http.Handler) http.Handler
	// Ready has the readiness checks by the name of the checked part.
	Ready map[string]func(context.Context) error
	// Drain is the draining state; nil never drains.
	Drain *Drain
	// Metrics are available to MetricsNetworks.
	Metrics         *metrics.Metrics
	MetricsNetworks config.Networks
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// LogRequests logs each finished request.
	LogRequests bool
	// Traces says how requests are traced.
	Traces Traces
	// Page enables the playground.
	Page bool
	// Version is the version of the program.
	Version string
	Log     *slog.Logger
}

// New returns the handler of all paths.
func New(o Options) http.Handler {
	graphql := o.CrossOrigin(graphqlGuard(o, o.GraphQL))
	probe := newProbes(WorkerOptions{Ready: o.Ready, Drain: o.Drain, Metrics: o.Metrics, MetricsNetworks: o.MetricsNetworks, Log: o.Log})
	root := rootHandler(o)
	routes := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		accesslog.From(r.Context()).SetRoute(o.route(r))
		switch path := r.URL.Path; {
		case path == graphqlPath:
			graphql.ServeHTTP(w, r)
		case below(path, "/webhooks"), below(path, "/api/v1/webhooks"):
			o.Webhooks.ServeHTTP(w, r)
		case saml.Serves(path):
			o.SAML.ServeHTTP(w, r)
		case below(path, scim.Root):
			o.SCIM.ServeHTTP(w, r)
		case below(path, "/v1"), below(path, "/api/v1"):
			o.REST.ServeHTTP(w, r)
		case path == "/mcp":
			o.MCP.ServeHTTP(w, r)
		case authorize.Serves(path):
			o.Authorize.ServeHTTP(w, r)
		case path == "/openapi.json":
			servePublished(w, r, o.OpenAPI)
		case path == schemaPath:
			servePublished(w, r, o.Schema)
		case o.Widget.Serves(path):
			readOnly(w, r, o.Widget)
		case probe.serves(path):
			probe.ServeHTTP(w, r)
		case o.Page && below(path, "/playground"):
			readOnly(w, r, http.HandlerFunc(servePage))
		case o.navigates(r):
			o.Dashboard.Page(w, r)
		case path == "/":
			readOnly(w, r, root)
		case o.Dashboard != nil && o.Dashboard.Serves(path):
			readOnly(w, r, o.Dashboard)
		default:
			writeError(w, apierr.NotFound("Page"))
		}
	})
	return withRequestID(o.Log, AccessLog{Enabled: o.LogRequests, TrustedProxies: o.TrustedProxies}, o.Traces, o.Drain, measure(o.Metrics, recoverPanics(o.Log, routes)))
}

// navigates reports whether a request is for the page of the dashboard: a browser
// opens a path that is none of the site's files and belongs to none of the interfaces.
// A wrong path of these is an error for programs, also if they accept anything.
func (o *Options) navigates(r *http.Request) bool {
	if o.Dashboard == nil || o.Dashboard.Serves(r.URL.Path) || !dashboard.Navigates(r) {
		return false
	}
	for _, owned := range []string{
		"/v1", "/api", graphqlPath, "/mcp", "/scim", "/webhooks", "/oauth", "/.well-known", "/assets", "/playground",
		metricsPath, alivePath, livePath, readyPath, "/openapi.json", schemaPath, widget.ScriptPath, widget.ClientPath, widget.TypesPath,
	} {
		if below(r.URL.Path, owned) {
			return false
		}
	}
	return true
}

// below reports whether path is equal to prefix or below it.
func below(path, prefix string) bool {
	suffix, ok := strings.CutPrefix(path, prefix)
	return ok && (suffix == "" || suffix[0] == '/')
}

// readOnly passes GET and HEAD to the next handler and rejects other methods.
func readOnly(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, apierr.New(apierr.MethodNotAllowed, "Use GET here"))
		return
	}
	next.ServeHTTP(w, r)
}

// servePublished is readOnly with preflight requests.
func servePublished(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		next.ServeHTTP(w, r)
		return
	}
	readOnly(w, r, next)
}

// rootHandler serves the list of paths.
func rootHandler(o Options) http.Handler {
	paths := map[string]string{
		"service": "magpie", "version": o.Version, "graphql": graphqlPath, "public": "/v1", "dashboard": "/api/v1", "webhooks": "/webhooks/connectors", "mcp": "/mcp", "openapi": "/openapi.json", "schema": schemaPath,
		"widget": widget.ScriptPath, "client": widget.ClientPath, "health": alivePath, "ready": readyPath, "metrics": "/metrics",
	}
	if o.Page {
		paths["playground"] = "/playground"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if o.Dashboard != nil { // which is there for browsers
			w.Header().Set("Vary", "Accept")
		}
		writeJSON(w, http.StatusOK, paths)
	})
}
