package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// restrictionRoutes returns the routes of passages, histories, readers and restrictions
// of documents.
func restrictionRoutes() []*route {
	const dashboard, document = viewer.SurfaceDashboard, "/api/v1/documents/{id}"
	first := func(of string) field {
		return field{name: "first", variable: "first", kind: integer, bounds: between(1, maxPage), description: "The maximum number of " + of + "; default 50."}
	}
	return []*route{
		{Route: Route{http.MethodGet, document + "/passages", "ListPassages", dashboard, false, 200}, pages: "data.passages", perPage: maxPage},
		{Route: Route{http.MethodGet, "/api/v1/passages/{id}", "GetPassage", dashboard, false, 200},
			from: query, fields: []field{{name: "around", variable: "around", kind: integer, bounds: between(0, 10), description: "How many passages before it and after it are returned; default 1."}}},
		{Route: Route{http.MethodGet, document + "/history", "GetDocumentHistory", dashboard, false, 200}, from: query, fields: []field{first("events")}},
		{Route: Route{http.MethodGet, document + "/readers", "GetDocumentReaders", dashboard, false, 200}, from: query, fields: []field{first("readers at the source")}},
		{Route: Route{http.MethodPut, document + "/restriction", "RestrictDocument", dashboard, false, 200}, from: body, input: true, fields: []field{
			{name: "users", variable: "input.users", kind: textList, description: "Email addresses."},
			{name: "domains", variable: "input.domains", kind: textList, description: "Everybody with a verified address in these domains."},
			{name: "groups", variable: "input.groups", kind: textList, description: "Ids of groups at the source of the document's connector."},
			{name: "directoryGroups", variable: "input.directoryGroups", kind: textList, uuids: true, description: "Ids of groups of the workspace's directory."},
		}},
		{Route: Route{http.MethodDelete, document + "/restriction", "UnrestrictDocument", dashboard, false, 204}},
		{Route: Route{http.MethodGet, "/api/v1/document-restrictions", "ListDocumentRestrictions", dashboard, false, 200},
			from: query, pages: "data", fields: []field{{name: "connector", variable: "connector", kind: uid}}},
	}
}
