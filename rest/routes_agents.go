package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// Maximum lengths in characters.
const (
	maxPrompt  = 32000
	maxContent = 4000
)

// agentRoutes returns the routes of agents, templates and memories.
func agentRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	const agents, memories = "/api/v1/agents", "/api/v1/agents/{id}/memories"
	return []*route{
		{Route: Route{http.MethodGet, agents, "ListAgents", dashboard, false, 200}, pages: "data"},
		{Route: Route{http.MethodPost, agents, "CreateAgent", dashboard, false, 201},
			from: body, fields: append(agentFields(true, false), field{name: "toolPolicy", variable: "input.toolPolicy", kind: freeObject}), input: true},
		{Route: Route{http.MethodGet, agents + "/{id}", "GetAgent", dashboard, false, 200}},
		{Route: Route{http.MethodPut, agents + "/{id}", "UpdateAgent", dashboard, false, 200},
			from: body, fields: append(agentFields(false, true), field{name: "toolPolicy", variable: "input.toolPolicy", kind: freeObject, nullable: true}), input: true},
		{Route: Route{http.MethodDelete, agents + "/{id}", "DeleteAgent", dashboard, false, 204}},

		{Route: Route{http.MethodGet, "/api/v1/agent-templates", "ListAgentTemplates", dashboard, false, 200},
			from: query, pages: "data", fields: []field{{name: "category", variable: "category", maxLength: 100}}},
		{Route: Route{http.MethodGet, "/api/v1/agent-templates/{id}", "GetAgentTemplate", dashboard, false, 200}},
		{Route: Route{http.MethodPost, agents + "/from-template/{templateId}", "CreateAgentFromTemplate", dashboard, false, 201},
			from: body, fields: agentFields(false, false), input: true},

		{Route: Route{http.MethodGet, memories, "ListAgentMemories", dashboard, false, 200},
			from: query, pages: "data", fields: []field{memoryKind("kind")}},
		{Route: Route{http.MethodPost, memories, "CreateAgentMemory", dashboard, false, 201},
			from: body, fields: append(memoryFields(true), field{name: "shared", variable: "input.shared", kind: boolean}), input: true},
		{Route: Route{http.MethodGet, memories + "/search", "SearchAgentMemories", dashboard, false, 200},
			from: query, fields: []field{
				{name: "q", variable: "query", required: true, nonEmpty: true, maxLength: maxContent, description: "The query."},
				memoryKind("kind"),
				{name: "limit", variable: "limit", kind: integer, bounds: between(1, maxResults), description: "The maximum number of memories; default 10."},
			}},
		{Route: Route{http.MethodGet, memories + "/{memoryId}", "GetAgentMemory", dashboard, false, 200}},
		{Route: Route{http.MethodPut, memories + "/{memoryId}", "UpdateAgentMemory", dashboard, false, 200},
			from: body, fields: memoryFields(false), input: true},
		{Route: Route{http.MethodDelete, memories + "/{memoryId}", "DeleteAgentMemory", dashboard, false, 204}},
	}
}

// agentFields returns the fields of an agent. With clear, null clears optional fields.
func agentFields(create, clear bool) []field {
	return []field{
		{name: "name", variable: "input.name", required: create, maxLength: maxName, nonEmpty: true},
		{name: "description", variable: "input.description", nullable: clear, maxLength: maxMessage},
		{name: "systemPrompt", variable: "input.systemPrompt", required: create, maxLength: maxPrompt, nonEmpty: true},
		{name: "tools", variable: "input.tools", kind: textList, nullable: clear},
		{name: "collections", variable: "input.collections", kind: textList, uuids: true, nullable: clear},
		{name: "allCollections", variable: "input.allCollections", kind: boolean},
		{name: "startMessage", variable: "input.startMessage", nullable: clear, maxLength: maxMessage},
		{name: "model", variable: "input.model", nullable: clear, maxLength: maxName},
	}
}

func memoryKind(variable string) field {
	return field{name: "kind", variable: variable, enum: true, allowed: []string{"fact", "preference", "insight", "procedure"}}
}

func memoryFields(create bool) []field {
	return []field{
		memoryKind("input.kind"),
		{name: "content", variable: "input.content", required: create, maxLength: maxContent, nonEmpty: true},
		{name: "importance", variable: "input.importance", kind: number, bounds: between(0, 1)},
	}
}
