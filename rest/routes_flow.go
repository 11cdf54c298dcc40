package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// flowRoutes are those that stop syncs and let them go on.
func flowRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	const connector = "/api/v1/connectors/{id}"
	return []*route{
		{Route: Route{http.MethodPost, connector + "/pause", "PauseConnector", dashboard, false, 200}},
		{Route: Route{http.MethodPost, connector + "/resume", "ResumeConnector", dashboard, false, 200}},
	}
}
