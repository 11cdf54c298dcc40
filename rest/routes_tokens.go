package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// tokenRoutes returns the routes of personal and service tokens.
func tokenRoutes() []*route {
	const dashboard, taken = viewer.SurfaceDashboard, http.StatusConflict
	name := field{name: "name", variable: "input.name", required: true, nonEmpty: true, maxLength: maxName}
	role := field{name: "role", variable: "input.role", enum: true, allowed: roles()}
	groups := field{name: "groups", variable: "input.groups", kind: textList, enum: true, nonEmpty: true, allowed: operationGroups()}
	expires := field{name: "expiresAt", variable: "input.expiresAt", kind: timestamp}
	serviceRole, serviceGroups := role, groups
	serviceRole.required, serviceGroups.required = true, true
	return []*route{
		{Route: Route{http.MethodGet, "/api/v1/tokens", "ListTokens", dashboard, false, 200}, pages: "data", fields: []field{
			{name: "kind", variable: "kind", enum: true, allowed: []string{"personal", "service"}}}},
		{Route: Route{http.MethodGet, "/api/v1/tokens/mine", "ListMyTokens", dashboard, false, 200}},
		{Route: Route{http.MethodPost, "/api/v1/tokens/mine", "CreatePersonalToken", dashboard, false, 201},
			from: body, input: true, statuses: []int{taken}, fields: []field{name, role, groups, expires}},
		{Route: Route{http.MethodPost, "/api/v1/tokens", "CreateServiceToken", dashboard, false, 201},
			from: body, input: true, statuses: []int{taken}, fields: []field{name, serviceRole, serviceGroups, expires}},
		{Route: Route{http.MethodDelete, "/api/v1/tokens/{id}", "RevokeToken", dashboard, false, 204}},
	}
}

// operationGroups returns the groups of operations of a token, as the schema has them.
func operationGroups() []string {
	return []string{"basic", "search", "collections", "connectors", "documents", "databases", "agents", "automations", "people", "scim", "keys", "settings"}
}
