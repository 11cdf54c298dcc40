package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// maxTask is the maximum length of a message to an agent in characters.
const maxTask = 16_000

// runRoutes returns the routes of agent runs.
func runRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	return []*route{
		{Route: Route{http.MethodPost, "/api/v1/agents/{id}/execute/stream", "RunAgent", dashboard, false, 200},
			from: body, fields: []field{
				{name: "message", variable: "message", required: true, maxLength: maxTask, nonEmpty: true, description: "The task of the agent."},
				{name: "conversationId", variable: "conversationId", kind: uid, description: "An earlier conversation with this agent to continue."},
			}},
		{Route: Route{http.MethodGet, "/api/v1/agents/{id}/runs", "ListRuns", dashboard, false, 200}, pages: "data"},
		{Route: Route{http.MethodGet, "/api/v1/agents/{id}/runs/{runId}", "GetRun", dashboard, false, 200}},
	}
}
