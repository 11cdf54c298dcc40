package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// auditRoutes are the audit log: page by page, and whole as a file.
func auditRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	return []*route{
		{Route: Route{http.MethodGet, "/api/v1/audit-log", "ListAuditLog", dashboard, false, 200}, from: query, pages: "data", fields: auditFields()},
		{Route: Route{http.MethodGet, "/api/v1/audit-log.csv", "ListAuditLog", dashboard, false, 200}, from: query, fields: auditFields(), file: csvFile, whole: "data"},
		{Route: Route{http.MethodGet, "/api/v1/audit-log.jsonl", "ListAuditLog", dashboard, false, 200}, from: query, fields: auditFields(), file: linesFile, whole: "data"},
	}
}

func auditFields() []field {
	return []field{
		{name: "actor", variable: "filter.actor", about: "Id of a person or a key, or an email address or name as it was then."},
		{name: "action", variable: "filter.action", about: "An action such as connector.update, or all of a kind: connector.*"},
		{name: "targetKind", variable: "filter.targetKind"},
		{name: "targetId", variable: "filter.targetId", kind: uid},
		{name: "from", variable: "filter.from", kind: moment},
		{name: "to", variable: "filter.to", kind: moment},
		{name: "matching", variable: "filter.matching"},
	}
}
