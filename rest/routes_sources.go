package rest

import (
	"net/http"
	"slices"

	"github.com/magpie-search/magpie/internal/viewer"
)

// The order of a list by default, and what else it may be sorted by.
func sorting(allowed ...string) []field {
	return []field{
		{name: "sort", variable: "sort", upper: true, allowed: allowed, about: "What the list is sorted by."},
		{name: "order", variable: "order", upper: true, allowed: []string{"asc", "desc"}, about: "Ascending, which is the default, or descending."},
	}
}

func matching(about string) field {
	return field{name: "q", variable: "matching", longest: maxName, about: about}
}

func fileListFields() []field {
	return append(sorting("path", "created_at", "updated_at", "bytes"), matching("Only files whose path contains this."))
}

func documentListFields() []field {
	return append(sorting("created_at", "updated_at", "title", "path", "status", "bytes"),
		field{name: "status", variable: "status", upper: true, list: true, allowed: []string{"pending", "processing", "indexed", "failed", "deleted"}},
		matching("Only documents whose title or path contains this."))
}

func itemFields() []field {
	return append(sorting("path", "status", "created_at", "updated_at"),
		field{name: "status", variable: "status", upper: true, list: true, allowed: []string{"pending", "indexed", "unchanged", "skipped", "failed", "deleted"}},
		matching("Only items whose path contains this."))
}

// sourceRoutes are those of the ledger, the history of syncs and the kinds of
// connectors.
func sourceRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	const connector = "/api/v1/connectors/{id}"
	return []*route{
		{Route: Route{http.MethodGet, "/api/v1/connectors/kinds", "ListConnectorKinds", dashboard, false, 200}},
		{Route: Route{http.MethodPost, connector + "/refresh-permissions", "RefreshPermissions", dashboard, false, 202}},
		{Route: Route{http.MethodGet, connector + "/sync", "ListSyncs", dashboard, false, 200},
			from: query, pages: "data", fields: []field{
				{name: "status", variable: "status", upper: true, list: true, allowed: []string{"queued", "running", "completed", "partial", "failed", "canceled"}},
				{name: "order", variable: "order", upper: true, allowed: []string{"asc", "desc"}, about: "By their creation: the newest first, which is the default (desc), or the oldest."},
			}},
		{Route: Route{http.MethodPost, connector + "/sync/{jobId}/cancel", "CancelSync", dashboard, false, 200}},
		{Route: Route{http.MethodGet, connector + "/sync/{jobId}/items", "ListSyncItems", dashboard, false, 200},
			from: query, pages: "data", fields: itemFields()},
		{Route: Route{http.MethodGet, connector + "/items", "ListItems", dashboard, false, 200},
			from: query, pages: "data", fields: slices.Concat(itemFields(), []field{
				{name: "suppressed", variable: "suppressed", kind: boolean, about: "Only items that were deleted by hand, or none of them."},
			})},
		{Route: Route{http.MethodPost, connector + "/items/retry", "RetryItems", dashboard, false, 202},
			from: body, fields: []field{{name: "ids", variable: "ids", kind: uids, filled: true, about: "Items of the ledger; all that failed when left out."}}},
		{Route: Route{http.MethodPost, connector + "/items/{itemId}/allow", "AllowItem", dashboard, false, 200}},
	}
}
