package rest

import (
	"net/http"
	"slices"

	"github.com/magpie-search/magpie/internal/viewer"
)

// sorting returns the fields of a list's order.
func sorting(allowed ...string) []field {
	return []field{
		{name: "sort", variable: "sort", enum: true, allowed: allowed, description: "The sort key."},
		{name: "order", variable: "order", enum: true, allowed: []string{"asc", "desc"}, description: "Ascending (the default) or descending."},
	}
}

func matching(about string) field {
	return field{name: "q", variable: "matching", maxLength: maxName, description: about}
}

func fileListFields() []field {
	return append(sorting("path", "created_at", "updated_at", "bytes"), matching("Only files whose path contains this."))
}

func documentListFields() []field {
	return append(sorting("created_at", "updated_at", "title", "path", "status", "bytes"),
		field{name: "status", variable: "status", enum: true, list: true, allowed: []string{"pending", "processing", "indexed", "failed", "deleted"}},
		matching("Only documents whose title or path contains this."),
		field{name: "restricted", variable: "restricted", kind: boolean, description: "Only documents that are restricted by hand, or only others."})
}

func itemFields() []field {
	return append(sorting("path", "status", "created_at", "updated_at"),
		field{name: "status", variable: "status", enum: true, list: true, allowed: []string{"pending", "indexed", "unchanged", "skipped", "failed", "deleted"}},
		matching("Only items whose path contains this."))
}

// sourceRoutes returns the routes of the ledger, the history of syncs and the kinds of
// connectors.
func sourceRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	const connector = "/api/v1/connectors/{id}"
	return []*route{
		{Route: Route{http.MethodGet, "/api/v1/connectors/kinds", "ListConnectorKinds", dashboard, false, 200}},
		{Route: Route{http.MethodPost, connector + "/refresh-permissions", "RefreshPermissions", dashboard, false, 202}},
		{Route: Route{http.MethodGet, connector + "/sync", "ListSyncs", dashboard, false, 200},
			from: query, pages: "data", fields: []field{
				{name: "status", variable: "status", enum: true, list: true, allowed: []string{"queued", "running", "completed", "partial", "failed", "canceled"}},
				{name: "order", variable: "order", enum: true, allowed: []string{"asc", "desc"}, description: "By creation: the newest (desc, the default) or the oldest (asc) first."},
			}},
		{Route: Route{http.MethodPost, connector + "/sync/{jobId}/cancel", "CancelSync", dashboard, false, 200}},
		{Route: Route{http.MethodGet, connector + "/sync/{jobId}/items", "ListSyncItems", dashboard, false, 200},
			from: query, pages: "data", fields: itemFields()},
		{Route: Route{http.MethodGet, connector + "/items", "ListItems", dashboard, false, 200},
			from: query, pages: "data", fields: slices.Concat(itemFields(), []field{
				{name: "suppressed", variable: "suppressed", kind: boolean, description: "Only items that were deleted by hand, or only others."},
			})},
		{Route: Route{http.MethodPost, connector + "/items/retry", "RetryItems", dashboard, false, 202},
			from: body, fields: []field{{name: "ids", variable: "ids", kind: uuidList, nonEmpty: true, description: "Items of the ledger; default all failed items."}}},
		{Route: Route{http.MethodPost, connector + "/items/{itemId}/allow", "AllowItem", dashboard, false, 200}},
	}
}
