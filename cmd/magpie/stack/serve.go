package stack

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/magpie-search/magpie/agents/integration/toolserver"
	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/cmd/magpie/web/dashboard"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/graph"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/heap"
	"github.com/magpie-search/magpie/internal/live/connection"
	"github.com/magpie-search/magpie/rest"
	"github.com/magpie-search/magpie/rest/authorize"
	"github.com/magpie-search/magpie/rest/mcp"
	"github.com/magpie-search/magpie/rest/saml"
	"github.com/magpie-search/magpie/rest/scim"
	"github.com/magpie-search/magpie/rest/widget"
)

// HTTP is the HTTP side of an application that is being served.
type HTTP struct {
	app     *wire.App
	server  *web.Server
	streams *connection.Server
	drain   *web.Drain
	cool    context.CancelFunc // ends warming
	warming sync.WaitGroup     // the reading of collections into memory, and the watches over models and the heap
}

// Serve serves the application at the listener. page adds the page to try
// GraphQL on.
func Serve(ctx context.Context, app *wire.App, listener net.Listener, version string, page bool) (*HTTP, error) {
	h, handler, err := prepare(ctx, app, version, page)
	if err != nil {
		return nil, err
	}
	h.begin(ctx, web.Serve(ctx, listener, handler, app.Log))
	return h, nil
}

// prepare makes what serves the application, before there is a server.
func prepare(ctx context.Context, app *wire.App, version string, page bool) (*HTTP, http.Handler, error) {
	c := app.Config
	h := &HTTP{app: app, drain: &web.Drain{}}
	// The service's own pages are of another origin than the request if a proxy changes
	// the Host header.
	origins := append(slices.Clone(c.DashboardOrigins), c.PublicURL())
	h.streams = web.NewLive(ctx, app.Accounts, origins, connection.Limits{
		PerConnection: c.SubscriptionsPerConnection, PerPerson: c.SubscriptionsPerPerson, PerProcess: c.SubscriptionsPerProcess,
	}, app.Log)
	handler, err := handler(app, h.streams, h.drain, version, page)
	if err != nil {
		h.streams.Close(ctx)
		return nil, nil, err
	}
	return h, handler, nil
}

// begin says which server it is and starts to read collections into memory.
func (h *HTTP) begin(ctx context.Context, server *web.Server) {
	h.server = server
	warming, cool := context.WithCancel(ctx)
	h.cool = cool
	h.warming.Go(func() { h.app.Warm(warming) })
	h.warming.Go(func() { h.app.Fingerprints.Watch(warming) })
	h.warming.Go(func() { heap.Watch(warming, func() int64 { return h.app.Search.Resident().Bytes }) })
}

func handler(app *wire.App, streams *connection.Server, drain *web.Drain, version string, page bool) (http.Handler, error) {
	c := app.Config
	server := app.GraphQL()
	transport, err := rest.New(app.REST())
	if err != nil {
		return nil, fmt.Errorf("REST: %w", err)
	}
	description, err := transport.OpenAPI(version)
	if err != nil {
		return nil, fmt.Errorf("REST: %w", err)
	}
	assistants, err := mcp.New(app.MCP(transport, app.Config.PublicURL()+authorize.ResourcePath+mcp.Path, version))
	if err != nil {
		return nil, err
	}
	server.AddTransport(transport) // before those that go by content type
	server.AddTransport(assistants)
	web.LogOperations(server)
	web.TraceOperations(server, app.Tracer())
	web.AddTransports(server, streams, int64(c.UploadLimit))
	scripts, err := widget.New()
	if err != nil {
		return nil, err
	}
	var pages *dashboard.Handler
	if site, ok := dashboard.Site(); ok {
		if pages, err = dashboard.New(site); err != nil {
			return nil, err
		}
	}
	processMetrics(app)
	serverMetrics(app, streams)
	return web.New(web.Options{
		GraphQL:     server,
		REST:        transport.Handler(server, http.NotFoundHandler()),
		MCP:         mcp.Handler(server),
		Authorize:   authorize.New(authorize.Options{Server: app.Applications, RedirectURL: c.PublicURL() + oauth.CallbackPath(toolserver.ProviderName), TrustedProxies: c.TrustedProxies, Log: app.Log}),
		SAML:        saml.New(saml.Options{SAML: app.SAML, TrustedProxies: c.TrustedProxies, Log: app.Log}),
		SCIM:        scim.New(scim.Options{Accounts: app.Accounts, Directory: app.Directory, BaseURL: c.PublicURL(), TrustedProxies: c.TrustedProxies, Log: app.Log}),
		OpenAPI:     description,
		Schema:      rest.Publish("application/graphql", graph.SDL(app.REST().Schema)),
		Webhooks:    rest.NewWebhooks(app.Webhooks()),
		Widget:      scripts,
		Dashboard:   pages,
		Accounts:    app.Accounts,
		CrossOrigin: rest.DashboardCORS(c.DashboardOrigins).Handler,
		Ready:       readiness(app),
		Drain:       drain,
		Metrics:     app.Metrics, MetricsNetworks: c.MetricsNetworks,
		TrustedProxies: c.TrustedProxies, LogRequests: c.AccessLog, Traces: web.Traces{Tracer: app.Tracer(), From: c.TraceparentNetworks}, Page: page, Version: version, Log: app.Log,
	}), nil
}

// readiness returns the checks of what a process cannot do without.
func readiness(app *wire.App) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		wire.Database: app.DB.Pool.Ping,
		"schema":      app.DB.CheckSchema,
		wire.Queue:    func(ctx context.Context) error { return app.Redis.Ping(ctx).Err() },
	}
}
