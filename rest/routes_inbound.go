package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// inboundRoutes returns the routes of the integrations that receive mails, events and
// meetings.
func inboundRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	const all, one = "/api/v1/integrations/inbound", "/api/v1/integrations/inbound/{id}"
	settings := []field{
		{name: "enabled", variable: "input.enabled", kind: boolean},
		{name: "config", variable: "input.config", kind: freeObject},
		{name: "credentials", variable: "input.credentials", kind: freeObject},
	}
	return []*route{
		{Route: Route{http.MethodGet, all, "ListInboundIntegrations", dashboard, false, 200},
			from: query, pages: "data", fields: []field{
				{name: "kind", variable: "kind", enum: true, allowed: []string{"email", "events", "meetings", "slack"}},
				{name: "provider", variable: "provider", maxLength: maxName, description: "Name of a provider."},
			}},
		{Route: Route{http.MethodGet, all + "/providers", "ListInboundProviders", dashboard, false, 200}},
		{Route: Route{http.MethodPost, all, "CreateInboundIntegration", dashboard, false, 201},
			from: body, input: true, fields: append([]field{
				{name: "provider", variable: "input.provider", required: true, maxLength: maxName, nonEmpty: true},
				{name: "name", variable: "input.name", required: true, maxLength: maxName, nonEmpty: true},
			}, settings...)},
		{Route: Route{http.MethodGet, one, "GetInboundIntegration", dashboard, false, 200}},
		{Route: Route{http.MethodPut, one, "UpdateInboundIntegration", dashboard, false, 200},
			from: body, input: true, fields: append([]field{{name: "name", variable: "input.name", maxLength: maxName, nonEmpty: true}}, settings...)},
		{Route: Route{http.MethodDelete, one, "DeleteInboundIntegration", dashboard, false, 204}},
		{Route: Route{http.MethodPost, one + "/rotate-secret", "RotateInboundSecret", dashboard, false, 200},
			from: body, fields: []field{{name: "secret", variable: "secret", maxLength: maxMessage, description: "The new secret; without it, Magpie makes one where the platform allows it."}}},
		{Route: Route{http.MethodPost, one + "/test", "TestInboundIntegration", dashboard, false, 200}},
		{Route: Route{http.MethodGet, one + "/events", "ListInboundEvents", dashboard, false, 200},
			from: query, pages: "data", fields: []field{
				{name: "status", variable: "status", enum: true, list: true, allowed: []string{"received", "matched", "ignored", "rejected", "failed"}},
			}},
		{Route: Route{http.MethodPost, "/api/v1/inbound-events/{id}/resend", "ResendInboundEvent", dashboard, false, 200}},
	}
}
