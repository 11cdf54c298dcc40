package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// maxTask is the most characters of a message to an agent.
const maxTask = 16_000

// runRoutes run agents and show their runs.
func runRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	return []*route{
		{Route: Route{http.MethodPost, "/api/v1/agents/{id}/execute/stream", "RunAgent", dashboard, false, 200},
			from: body, fields: []field{
				{name: "message", variable: "message", required: true, longest: maxTask, filled: true, about: "What the agent is to do."},
				{name: "conversationId", variable: "conversationId", kind: uid, about: "Goes on with an earlier conversation with this agent."},
			}},
		{Route: Route{http.MethodGet, "/api/v1/agents/{id}/runs", "ListRuns", dashboard, false, 200}, pages: "data"},
		{Route: Route{http.MethodGet, "/api/v1/agents/{id}/runs/{runId}", "GetRun", dashboard, false, 200}},
	}
}
