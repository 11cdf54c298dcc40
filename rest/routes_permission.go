package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// permissionRoutes returns the routes of document permissions.
func permissionRoutes() []*route {
	return []*route{
		{Route: Route{http.MethodGet, "/api/v1/documents/{id}/why", "WhyVisible", viewer.SurfaceDashboard, false, 200},
			from: query, fields: []field{{name: "user", variable: "user", required: true, nonEmpty: true, description: "Email address of the person."}}},
	}
}
