package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// permissionRoutes returns the routes of document permissions and of the state of the
// installation, for administrators.
func permissionRoutes() []*route {
	const groups = "/api/v1/connectors/{id}/groups"
	return []*route{
		{Route: Route{http.MethodGet, "/api/v1/system", "GetSystem", viewer.SurfaceDashboard, false, 200}},
		{Route: Route{http.MethodGet, groups, "ListSourceGroups", viewer.SurfaceDashboard, false, 200}, pages: "data", fields: []field{
			matching("Only groups whose id or name contains this."),
		}},
		{Route: Route{http.MethodGet, groups + "/{groupId}", "GetSourceGroup", viewer.SurfaceDashboard, false, 200}, textParameter: "groupId"},
		{Route: Route{http.MethodGet, "/api/v1/directory-groups", "ListDirectoryGroups", viewer.SurfaceDashboard, false, 200}, pages: "data", fields: []field{
			matching("Only groups whose name contains this."),
		}},
		{Route: Route{http.MethodGet, "/api/v1/documents/{id}/why", "WhyVisible", viewer.SurfaceDashboard, false, 200},
			from: query, fields: []field{{name: "user", variable: "user", required: true, nonEmpty: true, description: "Email address of the person."}}},
	}
}
