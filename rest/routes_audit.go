package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// auditRoutes returns the routes of the audit log: pages and files.
func auditRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	return []*route{
		{Route: Route{http.MethodGet, "/api/v1/audit-log", "ListAuditLog", dashboard, false, 200}, from: query, pages: "data", fields: auditFields()},
		{Route: Route{http.MethodGet, "/api/v1/audit-log.csv", "ListAuditLog", dashboard, false, 200}, from: query, fields: auditFields(), file: csvFile, fileConnection: "data"},
		{Route: Route{http.MethodGet, "/api/v1/audit-log.jsonl", "ListAuditLog", dashboard, false, 200}, from: query, fields: auditFields(), file: linesFile, fileConnection: "data"},
	}
}

func auditFields() []field {
	return []field{
		{name: "actor", variable: "filter.actor", description: "The ID of a person or key, or the email address or name at that time."},
		{name: "action", variable: "filter.action", description: "An action such as connector.update, or connector.* for all actions of a kind."},
		{name: "targetKind", variable: "filter.targetKind"},
		{name: "targetId", variable: "filter.targetId", kind: uid},
		{name: "from", variable: "filter.from", kind: timestamp},
		{name: "to", variable: "filter.to", kind: timestamp},
		{name: "matching", variable: "filter.matching"},
	}
}
