package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// maxSettings is the maximum number of conditions or deliveries of an automation in a body.
const maxSettings = 50

// automationRoutes returns the routes of automations and their runs.
func automationRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	const all, one = "/api/v1/automations", "/api/v1/automations/{id}"
	const run = "/api/v1/automation-runs/{id}"
	kinds := []string{"schedule", "email", "event", "meeting", "document", "manual"}
	settings := []field{
		{name: "description", variable: "input.description", nullable: true, maxLength: maxMessage},
		{name: "enabled", variable: "input.enabled", kind: boolean},
		{name: "runAs", variable: "input.runAs", enum: true, allowed: []string{"owner", "service"}},
		{name: "trigger", variable: "input.trigger", kind: freeObject},
		{name: "conditions", variable: "input.conditions", kind: freeObjects, maxItems: maxSettings},
		{name: "approval", variable: "input.approval", kind: freeObject},
		{name: "delivery", variable: "input.delivery", kind: freeObjects, maxItems: maxSettings},
		{name: "limits", variable: "input.limits", kind: freeObject},
		{name: "dedupeKey", variable: "input.dedupeKey", maxLength: maxName},
	}
	return []*route{
		{Route: Route{http.MethodGet, all, "ListAutomations", dashboard, false, 200},
			from: query, pages: "data", fields: []field{
				{name: "kind", variable: "kind", enum: true, allowed: kinds},
				{name: "enabled", variable: "enabled", kind: boolean, description: "Only automations that are switched on, or off."},
			}},
		{Route: Route{http.MethodGet, all + "/templates", "ListAutomationTemplates", dashboard, false, 200}},
		{Route: Route{http.MethodPost, all, "CreateAutomation", dashboard, false, 201},
			from: body, input: true, fields: append([]field{
				{name: "name", variable: "input.name", required: true, maxLength: maxName, nonEmpty: true},
				{name: "agent", variable: "input.agentId", kind: uid, required: true},
				{name: "instructions", variable: "input.instructions", required: true, nonEmpty: true},
				{name: "kind", variable: "input.kind", required: true, enum: true, allowed: kinds},
			}, settings...)},
		{Route: Route{http.MethodGet, one, "GetAutomation", dashboard, false, 200}},
		{Route: Route{http.MethodPut, one, "UpdateAutomation", dashboard, false, 200},
			from: body, input: true, fields: append([]field{
				{name: "name", variable: "input.name", maxLength: maxName, nonEmpty: true},
				{name: "agent", variable: "input.agentId", kind: uid},
				{name: "instructions", variable: "input.instructions", nonEmpty: true},
				{name: "kind", variable: "input.kind", enum: true, allowed: kinds},
			}, settings...)},
		{Route: Route{http.MethodDelete, one, "DeleteAutomation", dashboard, false, 204}},
		{Route: Route{http.MethodPost, one + "/run", "RunAutomation", dashboard, false, 200},
			from: body, fields: []field{{name: "payload", variable: "payload", kind: freeObject, description: "What stands for the event."}}},
		{Route: Route{http.MethodGet, one + "/runs", "ListAutomationRuns", dashboard, false, 200},
			from: query, pages: "data", fields: []field{
				{name: "status", variable: "status", enum: true, list: true, allowed: []string{
					"queued", "running", "waiting", "completed", "failed", "rejected", "expired", "canceled", "skipped",
				}},
			}},
		{Route: Route{http.MethodGet, run, "GetAutomationRun", dashboard, false, 200}},
		{Route: Route{http.MethodPost, run + "/replay", "ReplayAutomationRun", dashboard, false, 200}},
		{Route: Route{http.MethodPost, run + "/cancel", "CancelAutomationRun", dashboard, false, 200}},
	}
}
