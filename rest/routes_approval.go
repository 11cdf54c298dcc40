package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// Maximum lengths in characters.
const (
	maxDecisionComment = 4000
	maxAnswer          = 10000
)

// approvalRoutes returns the routes of approvals, of grants and of the settings about the
// calls of agents.
func approvalRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	const all, one, settings = "/api/v1/approvals", "/api/v1/approvals/{id}", "/api/v1/approval-settings"
	comment := field{name: "comment", variable: "comment", maxLength: maxDecisionComment, description: "What the agent reads about the decision."}
	return []*route{
		{Route: Route{http.MethodGet, all, "ListApprovals", dashboard, false, 200},
			from: query, pages: "data", fields: []field{
				{name: "status", variable: "status", enum: true, list: true, allowed: []string{"pending", "approved", "edited", "answered", "rejected", "expired", "canceled"}},
				{name: "mine", variable: "mine", kind: boolean, description: "Only those of the caller's own runs."},
				{name: "run", variable: "run", kind: uid, description: "Only those of one run."},
			}},
		{Route: Route{http.MethodGet, one, "GetApproval", dashboard, false, 200}},
		{Route: Route{http.MethodPost, one + "/approve", "ApproveCall", dashboard, false, 200}, statuses: []int{http.StatusConflict},
			from: body, fields: []field{
				comment,
				{name: "arguments", variable: "arguments", kind: freeObject, description: "The arguments instead of those asked for."},
				{name: "remember", variable: "remember", enum: true, allowed: []string{"once", "run", "conversation", "agent"}, description: "For how long consent holds; once by default."},
				{name: "confirm", variable: "confirm", maxLength: maxName, description: "The name of the tool, to approve a deletion."},
				{name: "argumentsHash", variable: "argumentsHash", maxLength: maxName, description: "The argumentsHash that was shown. Another one is a conflict."},
			}},
		{Route: Route{http.MethodPost, one + "/reject", "RejectCall", dashboard, false, 200}, statuses: []int{http.StatusConflict},
			from: body, fields: []field{comment}},
		{Route: Route{http.MethodPost, one + "/answer", "AnswerQuestion", dashboard, false, 200}, statuses: []int{http.StatusConflict},
			from: body, fields: []field{{name: "answer", variable: "answer", required: true, nonEmpty: true, maxLength: maxAnswer, description: "The answer to the question."}, comment}},
		{Route: Route{http.MethodGet, "/api/v1/agents/{id}/tool-grants", "ListToolGrants", dashboard, false, 200}, pages: "data"},
		{Route: Route{http.MethodDelete, "/api/v1/tool-grants/{id}", "RevokeToolGrant", dashboard, false, 204}},
		{Route: Route{http.MethodGet, settings, "GetApprovalSettings", dashboard, false, 200}},
		{Route: Route{http.MethodPut, settings, "UpdateApprovalSettings", dashboard, false, 200},
			from: body, input: true, fields: []field{
				{name: "toolPolicy", variable: "input.toolPolicy", kind: freeObject, nullable: true},
				{name: "slackIntegrationId", variable: "input.slackIntegrationId", kind: uid, nullable: true},
				{name: "slackChannel", variable: "input.slackChannel", nullable: true, maxLength: maxName},
			}},
	}
}
