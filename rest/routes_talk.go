package rest

import (
	"net/http"
	"regexp"

	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Limits of conversations and API keys. Those of searches are in internal/search.
const (
	maxTitle     = 300 // characters
	maxMatching  = 200 // characters
	maxContext   = 8000
	maxOverlap   = 43200 // minutes
	maxPerMinute = 1_000_000
	maxTop       = 100
)

// talkRoutes returns the routes of searches with facets, conversations, analytics and
// API keys.
func talkRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	const conversation, feedback = "/api/v1/conversations/{id}", "/api/v1/conversations/{id}/messages/{messageId}/feedback"
	kinds := field{name: "kind", variable: "kind", enum: true, allowed: []string{"chat", "agent"}}
	agent := field{name: "agent", variable: "agentId", kind: uid, description: "Only conversations with this agent."}
	return []*route{
		{Route: Route{http.MethodGet, "/api/v1/search", "SearchDashboard", dashboard, false, 200},
			from: query, fields: append(append(dashboardSearch(true), explainField(), distinctField(), collapseField()), facetFields("Counted when named.")...), input: true, scopeVariable: "input.collection"},
		{Route: Route{http.MethodGet, "/api/v1/search/facets", "SearchFacets", dashboard, false, 200},
			from: query, fields: append(dashboardSearch(false), facetFields("All when left out.")...), input: true, scopeVariable: "input.collection"},
		{Route: Route{http.MethodGet, "/api/v1/search/suggestions", "SearchSuggestions", dashboard, false, 200},
			from: query, scopeVariable: "collection", fields: []field{
				{name: "prefix", variable: "prefix", required: true, nonEmpty: true, maxLength: maxMatching, description: "The beginning of a query."},
				{name: "limit", variable: "limit", kind: integer, bounds: between(1, search.MaxSuggestions)},
				{name: "collection", variable: "collection", kind: uid},
			}},

		{Route: Route{http.MethodGet, "/api/v1/search/why-not", "SearchWhyNot", dashboard, false, 200},
			from: query, fields: whyNotFields(), input: true, scopeVariable: "input.collection"},

		{Route: Route{http.MethodGet, "/api/v1/conversations", "ListConversations", dashboard, false, 200}, pages: "data", fields: []field{
			{name: "q", variable: "matching", maxLength: maxMatching, description: "Only conversations whose title or messages contain this."}, agent, kinds,
		}},
		{Route: Route{http.MethodDelete, "/api/v1/conversations", "DeleteConversations", dashboard, false, 204}, from: query, fields: []field{agent, kinds}},
		{Route: Route{http.MethodGet, conversation, "GetConversation", dashboard, false, 200}, pages: "data.messages", perPage: maxPage},
		{Route: Route{http.MethodPut, conversation, "RenameConversation", dashboard, false, 200},
			from: body, fields: []field{{name: "title", variable: "title", required: true, nonEmpty: true, maxLength: maxTitle}}},
		{Route: Route{http.MethodDelete, conversation, "DeleteConversation", dashboard, false, 204}},
		{Route: Route{http.MethodGet, conversation + "/export", "ExportConversation", dashboard, false, 200},
			from: query, fields: []field{{name: "format", variable: "format", enum: true, allowed: []string{"markdown", "json"}}}},
		{Route: Route{http.MethodPut, feedback, "SetFeedback", dashboard, false, 200}, from: body, input: true, fields: []field{
			{name: "rating", variable: "input.rating", required: true, enum: true, allowed: []string{"positive", "negative"}},
			{name: "reason", variable: "input.reason", enum: true, allowed: []string{"irrelevant", "outdated", "incorrect", "incomplete", "other"}},
			{name: "comment", variable: "input.comment", maxLength: maxComment},
		}},
		{Route: Route{http.MethodDelete, feedback, "RemoveFeedback", dashboard, false, 204}},

		{Route: Route{http.MethodGet, "/api/v1/usage", "GetUsage", dashboard, false, 200}},
		{Route: Route{http.MethodGet, "/api/v1/analytics/queries", "GetQueryAnalytics", dashboard, false, 200}, from: query, fields: []field{
			{name: "from", variable: "from", kind: timestamp, description: "A time on the first day; default 29 days before the last day."},
			{name: "to", variable: "to", kind: timestamp, description: "A time on the last day; default today."},
			{name: "collection", variable: "collectionId", kind: uid},
			{name: "apiKey", variable: "apiKeyId", kind: uid},
			{name: "kind", variable: "kind", enum: true, allowed: []string{"search", "chat"}},
			{name: "first", variable: "first", kind: integer, bounds: between(1, maxTop), description: "The maximum length of each list; default 10."},
		}},

		{Route: Route{http.MethodGet, "/api/v1/embedding-models", "ListEmbeddingModels", dashboard, false, 200}},
		{Route: Route{http.MethodGet, "/api/v1/collections/{id}/model-change", "GetModelChange", dashboard, false, 200}},

		{Route: Route{http.MethodGet, "/api/v1/collections/{id}/search-quality", "GetSearchQuality", dashboard, false, 200},
			from: query, fields: []field{{name: "first", variable: "first", kind: integer, bounds: between(1, maxTop), description: "The maximum number of runs; default 10."}}},
		{Route: Route{http.MethodPost, "/api/v1/collections/{id}/search-quality", "MeasureSearchQuality", dashboard, false, 200},
			from: body, fields: []field{{name: "days", variable: "days", kind: integer, bounds: between(1, 366), description: "Days of traffic up to now; default 30."}}},

		{Route: Route{http.MethodGet, "/api/v1/api-keys", "ListAPIKeys", dashboard, false, 200}, pages: "data"},
		{Route: Route{http.MethodPost, "/api/v1/api-keys", "CreateAPIKey", dashboard, false, 201}, from: body, input: true, fields: keyFields(true)},
		{Route: Route{http.MethodGet, "/api/v1/api-keys/{id}", "GetAPIKey", dashboard, false, 200}},
		{Route: Route{http.MethodPut, "/api/v1/api-keys/{id}", "UpdateAPIKey", dashboard, false, 200}, from: body, input: true, fields: keyFields(false)},
		{Route: Route{http.MethodPost, "/api/v1/api-keys/{id}/rotate", "RotateAPIKey", dashboard, false, 200}, from: body, fields: []field{
			{name: "overlapMinutes", variable: "overlapMinutes", kind: integer, bounds: between(0, maxOverlap), description: "The time in minutes during which the old keys stay valid; default 1440."},
			{name: "expiresAt", variable: "expiresAt", kind: timestamp, description: "The new expiry of the pair; default unchanged."},
		}},
		{Route: Route{http.MethodDelete, "/api/v1/api-keys/{id}", "RevokeAPIKey", dashboard, false, 204}},
	}
}

// dashboardSearch returns the fields of a search on the dashboard. Without a page, the
// query is optional.
func dashboardSearch(paged bool) []field {
	var fields []field
	for _, f := range searchFields() {
		switch f.name {
		case "limit", "offset", "highlight":
			if !paged {
				continue
			}
		case "query":
			f.required = paged
		case "filters":
			f.fields = append(f.fields,
				field{name: "sections", variable: "input.filters.sections", kind: textList},
				field{name: "versions", variable: "input.filters.versions", kind: textList},
				field{name: "languages", variable: "input.filters.languages", kind: textList},
				field{name: "sources", variable: "input.filters.sources", kind: textList},
				field{name: "connectors", variable: "input.filters.connectors", kind: textList, uuids: true},
				field{name: "collections", variable: "input.filters.collections", kind: textList, uuids: true},
				field{name: "changed_from", variable: "input.filters.changedFrom", kind: timestamp},
				field{name: "changed_until", variable: "input.filters.changedUntil", kind: timestamp},
			)
		}
		fields = append(fields, f)
	}
	return append(fields, prefixField())
}

// whyNotFields returns the fields of a search of which a document is missing.
func whyNotFields() []field {
	fields := []field{
		{name: "document", variable: "input.document", required: true, nonEmpty: true, description: "The document: its id, URL, path, id in the source, or title."},
		{name: "as_user", variable: "input.asUser", description: "Email address of the person who searches; the caller when left out. Role admin."},
	}
	for _, f := range dashboardSearch(true) {
		if f.name != "highlight" && f.name != "prefix" {
			fields = append(fields, f)
		}
	}
	return fields
}

// explainField returns the field that asks for explanations of results.
func explainField() field {
	return field{name: "explain", variable: "input.explain", kind: boolean, description: "Explain the score of each result."}
}

// facetFields returns the fields of facets.
func facetFields(about string) []field {
	const end = `(\.\.|[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2}))?)`
	return []field{
		{name: "facets", variable: "input.facets.fields", kind: textList, enum: true, commas: true, maxItems: search.MaxFacetRanges, description: "The facets. " + about,
			allowed: []string{"section", "version", "tags", "doc_type", "language", "collection", "source", "connector", "date"}},
		{name: "facet_limit", variable: "input.facets.first", kind: integer, bounds: between(1, search.MaxFacetValues)},
		{name: "ranges", variable: "input.facets.ranges", kind: textList, maxItems: search.MaxFacetRanges,
			format: &format{regexp.MustCompile("^" + end + "/" + end + "$"), "must be a span such as 2026-01-01/2026-02-01 or ../2025-01-01"}},
	}
}

// keyFields returns the fields of a pair of keys. For other than nullable fields, null
// means unchanged.
func keyFields(create bool) []field {
	return []field{
		{name: "name", variable: "input.name", required: create, nonEmpty: true, maxLength: maxName},
		{name: "allowAllCollections", variable: "input.allowAllCollections", kind: boolean},
		{name: "allowedCollections", variable: "input.allowedCollections", kind: textList, uuids: true},
		{name: "defaultCollection", variable: "input.defaultCollection", kind: uid, nullable: !create},
		{name: "allowedHosts", variable: "input.allowedHosts", kind: textList, required: create},
		{name: "allowedReferers", variable: "input.allowedReferers", kind: textList},
		{name: "widgetModelId", variable: "input.widgetModelId", nullable: !create},
		{name: "widgetContext", variable: "input.widgetContext", nullable: !create, maxLength: maxContext},
		{name: "requireSignature", variable: "input.requireSignature", kind: boolean},
		{name: "databaseTools", variable: "input.databaseTools", kind: boolean},
		{name: "rateLimitPerMinute", variable: "input.rateLimitPerMinute", kind: integer, nullable: !create, bounds: between(0, maxPerMinute)},
		{name: "expiresAt", variable: "input.expiresAt", kind: timestamp, nullable: !create},
	}
}
