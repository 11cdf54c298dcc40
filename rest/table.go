package rest

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strings"

	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Route is a route of the REST interface.
type Route struct {
	Method    string
	Pattern   string         // a path with parameters in braces
	Operation string         // the name of the stored operation
	Surface   viewer.Surface // PUBLIC with an API key, DASHBOARD with a session or a token
	Anonymous bool           // requires no session
	Status    int            // the status of a success
}

// Routes returns all routes of the REST interface.
func Routes() []Route {
	table := newTable()
	out := make([]Route, 0, len(table))
	for _, r := range table {
		out = append(out, r.Route)
	}
	return out
}

// source is the part of the request that has the fields of a route.
type source uint8

const (
	noInput source = iota
	query
	body
	multipartForm
)

// route is a Route with the conversion of its input and result.
type route struct {
	Route
	segments        []segment
	from            source
	fields          []field
	input           bool     // the operation requires an input object, which may be empty
	answer          string   // the path of the data in the operation's result; "." is all of it
	pages           string   // the path of the connection that limit and cursor page; empty for none
	perPage         int      // the default of limit
	statuses        []int    // further error statuses for the OpenAPI document
	scopeVariable   string   // the variable of the collection that must be within the key's scope
	nameVariable    string   // the variable of a path parameter that is a name instead of an ID
	textParameter   string   // the path parameter that is a text instead of an ID; empty for none
	optionalSession bool     // an anonymous route that evaluates a session
	mayForbid       bool     // an anonymous route that may answer 403
	events          bool     // records events of visitors
	typing          bool     // serves a query that is being typed
	startsFlow      bool     // starts a flow that only the same browser can finish
	finishesFlow    bool     // finishes a flow that the same browser has started
	refreshes       bool     // exchanges a refresh token, which may be in a cookie
	endsSession     bool     // ends the session of the browser
	redirect        string   // the path of a URL in the result to redirect the browser to; empty for none
	file            fileKind // the format of a list that is sent as a file; empty for JSON
	fileConnection  string   // the path of the connection that the file contains
}

// Limits of fields.
const (
	maxPage    = 200
	maxResults = 100  // of a search of memories
	maxMessage = 4000 // characters of a chat message or a description
	maxName    = 200  // characters of a name
	maxEvents  = 100
	maxComment = 500 // characters
	maxEventID = 100 // characters

	maxPathText = 1100 // bytes of a text in a path
)

func newTable() []*route {
	const dashboard, public = viewer.SurfaceDashboard, viewer.SurfacePublic
	table := []*route{
		{Route: Route{http.MethodPost, "/v1/docs/search", "Search", public, false, 200},
			from: body, fields: publicSearchFields(), input: true, scopeVariable: "input.collection"},
		{Route: Route{http.MethodGet, "/v1/docs/search", "Search", public, false, 200},
			from: query, fields: publicSearchFields(), input: true, scopeVariable: "input.collection"},
		{Route: Route{http.MethodGet, "/v1/docs/suggest", "SearchCompletions", public, false, 200},
			from: query, scopeVariable: "collection", typing: true, fields: []field{
				{name: "q", variable: "q", required: true, nonEmpty: true, maxLength: maxMatching},
				{name: "limit", variable: "limit", kind: integer, bounds: between(1, search.MaxSuggestions)},
				{name: "collection", variable: "collection", kind: uid}, suggestFilters(),
			}},
		{Route: Route{http.MethodPost, "/v1/chat/stream", "Chat", public, false, 200},
			from: body, fields: chatFields(), input: true, scopeVariable: "input.collection"},
		{Route: Route{http.MethodPost, "/v1/analytics/events", "RecordEvents", public, false, 202},
			from: body, fields: []field{
				{name: "events", variable: "input.events", single: "input.event", kind: objects, maxItems: maxEvents, fields: eventFields()},
			}, input: true},

		{Route: Route{http.MethodPost, "/v1/docs/events", "RecordVisitorEvent", public, false, 202},
			from: body, fields: visitorEventFields(), input: true, events: true},

		{Route: Route{http.MethodPost, "/api/v1/auth/login", "SignIn", dashboard, true, 200},
			from: body, fields: []field{{name: "email", variable: "email", required: true}, {name: "password", variable: "password", required: true}}},
		{Route: Route{http.MethodPost, "/api/v1/auth/refresh", "RefreshSession", dashboard, true, 200},
			from: body, refreshes: true, fields: []field{{name: refreshTokenKey, variable: refreshVariable, required: true}}},
		{Route: Route{http.MethodPost, "/api/v1/auth/logout", "SignOut", dashboard, false, 200}, answer: ".", endsSession: true},

		{Route: Route{http.MethodGet, "/api/v1/collections", "ListCollections", dashboard, false, 200}, pages: "data",
			fields: []field{matching("Only collections whose name or description contains this.")}},
		{Route: Route{http.MethodPost, "/api/v1/collections", "CreateCollection", dashboard, false, 201},
			from: body, fields: collectionFields(true), input: true},
		{Route: Route{http.MethodGet, "/api/v1/collections/{id}", "GetCollection", dashboard, false, 200}},
		{Route: Route{http.MethodPut, "/api/v1/collections/{id}", "UpdateCollection", dashboard, false, 200},
			from: body, fields: collectionFields(false), input: true},
		{Route: Route{http.MethodDelete, "/api/v1/collections/{id}", "DeleteCollection", dashboard, false, 204}},
		{Route: Route{http.MethodPost, "/api/v1/collections/{id}/refresh-stats", "RefreshCollectionStats", dashboard, false, 200}},

		{Route: Route{http.MethodGet, "/api/v1/documents/{id}/content", "GetDocumentContent", dashboard, false, 200}},
		{Route: Route{http.MethodGet, "/api/v1/documents/{id}/summary", "GetDocumentSummary", dashboard, false, 200}},

		{Route: Route{http.MethodGet, "/api/v1/connectors", "ListConnectors", dashboard, false, 200},
			from: query, pages: "data", fields: []field{
				{name: "collection", variable: "collection", kind: uid},
				{name: "type", variable: "type", description: "Name of a kind of connectors."},
				{name: "status", variable: "status", enum: true, list: true, allowed: []string{"active", "paused", "needs_auth", "error"}},
				matching("Only connectors whose name contains this."),
			}},
		{Route: Route{http.MethodPost, "/api/v1/connectors", "CreateConnector", dashboard, false, 201},
			from: body, input: true, fields: append([]field{
				{name: "name", variable: "input.name", required: true, maxLength: maxName, nonEmpty: true},
				{name: "type", variable: "input.type", required: true},
				{name: "collection", variable: "input.collection", kind: uid, required: true},
			}, connectorSettings()...)},
		{Route: Route{http.MethodPost, "/api/v1/connectors/test", "TestConnection", dashboard, false, 200},
			from: body, input: true, fields: []field{
				{name: "type", variable: "input.type", required: true},
				{name: "config", variable: "input.config", kind: freeObject},
				{name: "credentials", variable: "input.credentials", kind: freeObject},
			}},
		{Route: Route{http.MethodGet, "/api/v1/connectors/{id}", "GetConnector", dashboard, false, 200}},
		{Route: Route{http.MethodPut, "/api/v1/connectors/{id}", "UpdateConnector", dashboard, false, 200},
			from: body, input: true, fields: append([]field{{name: "name", variable: "input.name", maxLength: maxName, nonEmpty: true}}, connectorSettings()...)},
		{Route: Route{http.MethodPatch, "/api/v1/connectors/{id}", "UpdateConnector", dashboard, false, 200},
			from: body, input: true, fields: []field{docSync(true), schemaSync()}},
		{Route: Route{http.MethodDelete, "/api/v1/connectors/{id}", "DeleteConnector", dashboard, false, 204}},
		{Route: Route{http.MethodPost, "/api/v1/connectors/{id}/test", "TestConnector", dashboard, false, 200},
			from: body, fields: []field{
				{name: "config", variable: "config", kind: freeObject},
				{name: "credentials", variable: "credentials", kind: freeObject},
			}},
		{Route: Route{http.MethodPost, "/api/v1/connectors/{id}/sync", "StartSync", dashboard, false, 202},
			from: body, input: true, fields: syncFields()},
		{Route: Route{http.MethodGet, "/api/v1/connectors/{id}/sync/{jobId}", "GetSync", dashboard, false, 200}},
		{Route: Route{http.MethodGet, "/api/v1/connectors/{id}/documents", "ListDocuments", dashboard, false, 200},
			from: query, pages: "data", fields: documentListFields()},
		{Route: Route{http.MethodGet, "/api/v1/connectors/{id}/documents/{documentId}", "GetDocument", dashboard, false, 200}},
		{Route: Route{http.MethodDelete, "/api/v1/connectors/{id}/documents/{documentId}", "DeleteDocument", dashboard, false, 204}},
		{Route: Route{http.MethodGet, "/api/v1/connectors/{id}/files", "ListFiles", dashboard, false, 200},
			pages: "data", fields: fileListFields()},
		{Route: Route{http.MethodPost, "/api/v1/connectors/{id}/files/upload", "UploadFiles", dashboard, false, 201},
			from: multipartForm},
		{Route: Route{http.MethodDelete, "/api/v1/connectors/{id}/files", "DeleteFiles", dashboard, false, 204},
			from: body, fields: []field{{name: "paths", variable: "paths", kind: textList, required: true, nonEmpty: true}}},
	}
	table = append(table, permissionRoutes()...)
	table = append(table, restrictionRoutes()...)
	table = append(table, peopleRoutes()...)
	table = append(table, agentRoutes()...)
	table = append(table, runRoutes()...)
	table = append(table, talkRoutes()...)
	table = append(table, signOnRoutes()...)
	table = append(table, sourceRoutes()...)
	table = append(table, flowRoutes()...)
	table = append(table, auditRoutes()...)
	table = append(table, tokenRoutes()...)
	table = append(table, engineRoutes()...)
	table = append(table, databaseRoutes()...)
	table = append(table, inboundRoutes()...)
	table = append(table, automationRoutes()...)
	table = append(table, toolRoutes()...)
	table = append(table, approvalRoutes()...)
	for _, r := range table {
		r.segments = parsePattern(r.Pattern)
		if r.answer == "" {
			r.answer = "data"
		}
		if r.pages == "" {
			continue
		}
		if r.perPage == 0 {
			r.perPage = 50
		}
		r.from = query
		r.fields = append(r.fields,
			field{name: "limit", variable: "limit", kind: integer, bounds: between(1, maxPage), description: "The maximum number of items of a page."},
			field{name: "cursor", variable: "after", description: "The next_cursor of the previous page; without it, the first page."})
	}
	return table
}

func searchFields() []field {
	return []field{
		{name: "query", variable: "input.query", required: true, nonEmpty: true},
		{name: "collection", variable: "input.collection", kind: uid},
		{name: "limit", variable: "input.limit", kind: integer, bounds: between(1, search.MaxLimit)},
		{name: "offset", variable: "input.offset", kind: integer, bounds: between(0, math.MaxInt32)},
		{name: "min_score", variable: "input.minScore", kind: number, bounds: between(0, 1)},
		{name: "highlight", variable: "input.highlight", kind: boolean},
		{name: "filters", kind: group, closed: true, fields: []field{
			{name: "section", variable: "input.filters.section"},
			{name: "version", variable: "input.filters.version"},
			{name: "tags", variable: "input.filters.tags", kind: textList},
			{name: "doc_types", variable: "input.filters.docTypes", kind: textList},
			{name: "language", variable: "input.filters.language"},
			{name: "date_after", variable: "input.filters.dateAfter", kind: date},
			{name: "date_before", variable: "input.filters.dateBefore", kind: date},
		}},
	}
}

// suggestFilters returns the filters of a search as a field of suggestions.
func suggestFilters() field {
	for _, f := range searchFields() {
		if f.name == "filters" {
			for i := range f.fields {
				f.fields[i].variable = strings.TrimPrefix(f.fields[i].variable, "input.")
			}
			return f
		}
	}
	panic("rest: a search has no filters")
}

// prefixName is the field that marks a search of a query that is being typed.
const prefixName = "prefix"

// publicSearchFields returns the fields of a search by an API key.
func publicSearchFields() []field {
	fields := append(searchFields(), prefixField(), distinctField(), collapseField())
	for _, f := range facetFields("Counted when named.") {
		switch f.name {
		case "facets":
			f.allowed = []string{"section", "version", "tags", "doc_type", "language", "source", "date"}
			fields = append(fields, f)
		case "facet_limit":
			fields = append(fields, f)
		}
	}
	return fields
}

func prefixField() field { return field{name: prefixName, variable: "input.prefix", kind: boolean} }

func collapseField() field { return field{name: "collapse", variable: "input.collapse", kind: boolean} }

func distinctField() field {
	return field{name: "distinct", variable: "input.distinct", format: &format{
		regexp.MustCompile(fmt.Sprintf("^(%s|%s.{1,%d})$", strings.Join(search.DistinctFields(), "|"), regexp.QuoteMeta(search.DistinctMetadata), search.MaxMetadataKey)),
		"must be one of " + strings.Join(search.DistinctFields(), ", ") + ", or metadata. and a key",
	}}
}

func chatFields() []field {
	return []field{
		{name: "message", variable: "input.message", required: true, maxLength: maxMessage, nonEmpty: true},
		{name: "conversation_id", variable: "input.conversationId", kind: uid},
		{name: "collection", variable: "input.collection", kind: uid},
	}
}

// eventFields returns the fields of an event. The operation checks which fields its
// type requires.
func eventFields() []field {
	return []field{
		{name: "type", variable: "type", required: true, enum: true, allowed: []string{"click", "feedback"}},
		{name: "request_id", variable: "requestId", required: true,
			format: &format{regexp.MustCompile(requestid.Pattern), "must be the X-Request-Id of a search or chat response"}},
		{name: "result_id", variable: "resultId", kind: uid},
		{name: "document_id", variable: "documentId", kind: uid},
		{name: "position", variable: "position", kind: integer, bounds: between(0, math.MaxInt32)},
		{name: "rating", variable: "rating", enum: true, allowed: []string{"positive", "negative"}},
		{name: "reason", variable: "reason", enum: true, allowed: []string{"irrelevant", "outdated", "incorrect", "incomplete", "other"}},
		{name: "comment", variable: "comment", maxLength: maxComment},
		{name: "occurred_at", variable: "occurredAt", kind: timestamp},
		{name: "event_id", variable: "eventId", maxLength: maxEventID},
	}
}

// visitorEventFields returns the fields of an event of a visitor: those that a page sends.
func visitorEventFields() []field {
	var fields []field
	for _, f := range eventFields() {
		switch f.name {
		case "type", "request_id", "result_id", "document_id", "position", "rating", "reason":
			f.variable = "input." + f.variable
			fields = append(fields, f)
		}
	}
	return fields
}

func collectionFields(create bool) []field {
	return []field{
		{name: "name", variable: "input.name", required: create, maxLength: maxName, nonEmpty: true},
		{name: "description", variable: "input.description", nullable: true, maxLength: maxMessage},
		{name: "embeddingModel", variable: "input.embeddingModel"},
	}
}

func connectorSettings() []field {
	return []field{
		{name: "enabled", variable: "input.enabled", kind: boolean},
		{name: "config", variable: "input.config", kind: freeObject},
		{name: "credentials", variable: "input.credentials", kind: freeObject},
		docSync(false), schemaSync(),
	}
}

func docSync(required bool) field {
	return field{name: "doc_sync", kind: group, required: required, unless: "schema_sync", fields: schedule("docSync")}
}

// schemaSync returns the schedule of a connector that attaches a database.
func schemaSync() field {
	return field{name: "schema_sync", kind: group, fields: schedule("schemaSync")}
}

func schedule(input string) []field {
	return []field{
		{name: "sync_strategy", variable: "input." + input + ".syncStrategy", enum: true, allowed: []string{"manual", "scheduled"}},
		{name: "schedule_interval", variable: "input." + input + ".scheduleInterval",
			allowed: []string{"15m", "30m", "1h", "2h", "4h", "6h", "12h", "24h"}},
	}
}

// noun returns the name of the object that a path parameter identifies, by the
// segment before the parameter.
func noun(before string) string {
	switch before {
	case "collections":
		return "Collection"
	case "connectors":
		return "Connector"
	case "documents":
		return "Document"
	case "passages":
		return "Passage"
	case "sync":
		return "Sync job"
	case "plan":
		return "Plan"
	case "items":
		return "Item"
	case "conversations":
		return "Conversation"
	case "sessions":
		return "Session"
	case "workspaces":
		return "Workspace"
	case "members":
		return "Member"
	case "invitations":
		return "Invitation"
	case "agents":
		return "Agent"
	case "agent-templates", "from-template":
		return "Agent template"
	case "memories":
		return "Memory"
	case "runs":
		return "Run"
	case "messages":
		return "Message"
	case "api-keys":
		return "API key"
	case "tools":
		return "Tool"
	case "inbound", "tool-integrations":
		return "Integration"
	case "inbound-events":
		return "Event"
	case "automations":
		return "Automation"
	case "automation-runs":
		return "Automation run"
	case "approvals":
		return "Approval"
	case "tool-grants":
		return "Grant"
	case "databases":
		return "Database"
	case "groups":
		return "Group"
	case "tables":
		return "Table"
	case "callback":
		return "Provider"
	default:
		return "Page"
	}
}
