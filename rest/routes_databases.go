package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// Limits of the fields of databases.
const (
	maxTables    = 50
	maxTableRows = 1000
	maxStatement = 10_000 // characters
)

// databaseRoutes returns the routes of the databases that connectors attach.
func databaseRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	const all, one = "/api/v1/databases", "/api/v1/databases/{id}"
	return []*route{
		{Route: Route{http.MethodGet, all, "ListDatabases", dashboard, false, 200},
			from: query, fields: []field{{name: "collection", variable: "collection", kind: uid}}},
		{Route: Route{http.MethodGet, all + "/search", "SearchDatabaseTables", dashboard, false, 200},
			from: query, fields: []field{
				{name: "query", variable: "query", required: true, nonEmpty: true, maxLength: maxComment, description: "What the tables are about."},
				{name: "database", variable: "database", kind: uid, description: "The id of a database; default all."},
				{name: "collection", variable: "collection", kind: uid},
				{name: "limit", variable: "limit", kind: integer, bounds: between(1, maxTables)},
			}},
		{Route: Route{http.MethodGet, one + "/tables", "ListDatabaseTables", dashboard, false, 200}, pages: "data", fields: []field{
			matching("Only tables whose name or comment, or the name or comment of a column, contains this."),
		}},
		{Route: Route{http.MethodGet, one + "/tables/{table}", "GetDatabaseTable", dashboard, false, 200}, textParameter: "table"},
		{Route: Route{http.MethodPost, one + "/query", "QueryDatabase", dashboard, false, 200},
			from: body, fields: []field{
				{name: "sql", variable: "sql", required: true, nonEmpty: true, maxLength: maxStatement, description: "One statement that only reads, in the dialect of the database."},
				{name: "limit", variable: "limit", kind: integer, bounds: between(1, maxTableRows), description: "The maximum number of rows; default 100."},
			}},
	}
}
