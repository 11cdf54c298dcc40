package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// permissionRoutes say who may see what, and why.
func permissionRoutes() []*route {
	return []*route{
		{Route: Route{http.MethodGet, "/api/v1/documents/{id}/why", "WhyVisible", viewer.SurfaceDashboard, false, 200},
			from: query, fields: []field{{name: "user", variable: "user", required: true, filled: true, about: "Email address of the person."}}},
	}
}
