package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/rest/widget"
)

// Paths that are answered, partly, before all the others can be. alivePath and
// livePath are the same.
const (
	graphqlPath = "/graphql"
	alivePath   = "/healthz"
	livePath    = "/livez"
	readyPath   = "/readyz"
)

// Accounts recognises session tokens, and knows which sessions go on.
type Accounts interface {
	Authenticate(ctx context.Context, token string) (viewer.Viewer, error)
	// Roles returns the roles of those of the sessions that have not ended.
	Roles(ctx context.Context, sessions []uuid.UUID) (map[uuid.UUID]viewer.Role, error)
}

// Options of a Handler. All but Page and Version are needed.
type Options struct {
	// GraphQL answers GraphQL operations.
	GraphQL http.Handler
	// REST answers /v1 and /api/v1.
	REST http.Handler
	// Webhooks answers /webhooks/connectors.
	Webhooks http.Handler
	// OpenAPI answers /openapi.json, the description of both, with a policy for
	// pages of other origins of its own.
	OpenAPI http.Handler
	// Widget answers the scripts for websites.
	Widget *widget.Handler
	// Accounts recognise who calls /graphql.
	Accounts Accounts
	// CrossOrigin is the policy for pages of other origins that call /graphql.
	CrossOrigin func(http.Handler) http.Handler
	// Ready checks what a request needs; the names say what is missing.
	Ready map[string]func(context.Context) error
	// Drain says whether the process is about to stop; nil: it never is.
	Drain *Drain
	// Metrics are shown to callers from MetricsNetworks.
	Metrics         *Metrics
	MetricsNetworks config.Networks
	// TrustedProxies are the addresses whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// Page serves the pages to try GraphQL and the widget on.
	Page bool
	// Version is the program's.
	Version string
	Log     *slog.Logger
}

// New makes the handler of everything that Magpie serves.
func New(o Options) http.Handler {
	graphql := o.CrossOrigin(graphqlGuard(o, o.GraphQL))
	metrics := onlyFrom(o.MetricsNetworks, promhttp.HandlerFor(o.Metrics.registry, promhttp.HandlerOpts{}))
	ready := readiness(o.Ready, o.Drain, o.Log)
	root := entrance(o)
	routes := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == graphqlPath:
			graphql.ServeHTTP(w, r)
		case below(path, "/v1"), below(path, "/api/v1"):
			o.REST.ServeHTTP(w, r)
		case below(path, "/webhooks"):
			o.Webhooks.ServeHTTP(w, r)
		case path == "/openapi.json":
			describe(w, r, o.OpenAPI)
		case o.Widget.Serves(path):
			read(w, r, o.Widget)
		case path == alivePath, path == livePath:
			read(w, r, http.HandlerFunc(alive))
		case path == readyPath:
			read(w, r, ready)
		case path == "/metrics":
			read(w, r, metrics)
		case path == "/":
			read(w, r, root)
		case o.Page && below(path, "/playground"):
			read(w, r, http.HandlerFunc(servePage))
		default:
			writeError(w, apierr.NotFound("Page"))
		}
	})
	return identified(o.Log, o.Drain, o.Metrics.measured(recovered(o.Log, routes)))
}

// below reports whether path is prefix or lies under it.
func below(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// read lets only GET and HEAD through.
func read(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, apierr.New(apierr.MethodNotAllowed, "Use GET here"))
		return
	}
	next.ServeHTTP(w, r)
}

// describe lets a page's question whether it may read through, too.
func describe(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		next.ServeHTTP(w, r)
		return
	}
	read(w, r, next)
}

func entrance(o Options) http.Handler {
	places := map[string]string{
		"service": "magpie", "version": o.Version, "graphql": graphqlPath, "public": "/v1", "dashboard": "/api/v1", "webhooks": "/webhooks/connectors", "openapi": "/openapi.json",
		"widget": widget.ScriptPath, "client": widget.ClientPath, "health": alivePath, "ready": readyPath, "metrics": "/metrics",
	}
	if o.Page {
		places["playground"] = "/playground"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, places) })
}
