package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// flowRoutes returns the routes that pause and resume syncs.
func flowRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	const connector = "/api/v1/connectors/{id}"
	return []*route{
		{Route: Route{http.MethodPost, connector + "/pause", "PauseConnector", dashboard, false, 200}},
		{Route: Route{http.MethodPost, connector + "/resume", "ResumeConnector", dashboard, false, 200}},
	}
}
