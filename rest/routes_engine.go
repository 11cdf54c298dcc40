package rest

import (
	"net/http"
	"slices"

	"github.com/magpie-search/magpie/internal/viewer"
)

// syncFields returns the fields of a sync, which a plan has, too.
func syncFields() []field {
	return []field{
		{name: "sync_mode", variable: "input.syncMode", allowed: []string{"full", "incremental", "auto"}},
		{name: "file_filter", variable: "input.fileFilter", kind: textList},
		{name: "force_full_sync", variable: "input.forceFullSync", kind: boolean, description: "Deprecated: the same as sync_mode full."},
	}
}

// engineRoutes returns the routes of plans, deletions in quarantine, restorations and
// statistics of a connector.
func engineRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	const connector = "/api/v1/connectors/{id}"
	return []*route{
		{Route: Route{http.MethodPost, connector + "/plan", "PlanSync", dashboard, false, 202}, from: body, input: true, fields: syncFields()},
		{Route: Route{http.MethodGet, connector + "/plan/{jobId}", "GetSyncPlan", dashboard, false, 200}},
		{Route: Route{http.MethodGet, connector + "/plan/{jobId}/items", "ListSyncPlanItems", dashboard, false, 200},
			from: query, pages: "data.items", answer: "data.items", fields: slices.Concat(sorting("path", "action", "created_at", "updated_at"), []field{
				{name: "action", variable: "action", enum: true, list: true,
					allowed: []string{"add", "modify", "compare", "unchanged", "skip", "fail", "delete", "quarantine", "keep"}},
				matching("Only items whose path contains this."),
			})},
		{Route: Route{http.MethodGet, connector + "/quarantine", "ListQuarantine", dashboard, false, 200},
			from: query, pages: "data", fields: slices.Concat(sorting("path", "title", "created_at", "updated_at", "status", "bytes"),
				[]field{matching("Only documents whose title or path contains this.")})},
		{Route: Route{http.MethodPost, connector + "/quarantine/approve", "ApproveDeletion", dashboard, false, 202}},
		{Route: Route{http.MethodPost, connector + "/quarantine/dismiss", "DismissDeletion", dashboard, false, 200}},
		{Route: Route{http.MethodPost, connector + "/documents/{documentId}/restore", "RestoreDocument", dashboard, false, 200}},
		{Route: Route{http.MethodPost, connector + "/sync/{jobId}/restore", "RestoreDeletions", dashboard, false, 202}},
		{Route: Route{http.MethodGet, connector + "/stats", "GetConnectorStats", dashboard, false, 200}},
	}
}
