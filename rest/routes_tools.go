package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// Limits of the fields of tools.
const (
	maxToolText = 4000
	maxRules    = 50
)

// toolRoutes returns the routes of the integrations whose tools agents call.
func toolRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	const all, one = "/api/v1/tool-integrations", "/api/v1/tool-integrations/{id}"
	const tool = "/api/v1/tools/{id}"
	risks := []string{"read", "write", "send", "delete"}
	settings := []field{
		{name: "enabled", variable: "input.enabled", kind: boolean},
		{name: "credentials_of", variable: "input.credentialsOf", enum: true, allowed: []string{"person", "shared"}},
		{name: "config", variable: "input.config", kind: freeObject},
		{name: "credentials", variable: "input.credentials", kind: freeObject},
	}
	return []*route{
		{Route: Route{http.MethodGet, all, "ListToolIntegrations", dashboard, false, 200},
			from: query, pages: "data", fields: []field{
				{name: "kind", variable: "kind", enum: true, allowed: []string{"pack", "webhook", "mcp"}},
				{name: "provider", variable: "provider", maxLength: maxName, description: "Name of a provider."},
			}},
		{Route: Route{http.MethodGet, all + "/providers", "ListToolProviders", dashboard, false, 200}},
		{Route: Route{http.MethodPost, all, "CreateToolIntegration", dashboard, false, 201},
			from: body, input: true, fields: append([]field{
				{name: "provider", variable: "input.provider", required: true, maxLength: maxName, nonEmpty: true},
				{name: "name", variable: "input.name", required: true, maxLength: maxName, nonEmpty: true},
				{name: "slug", variable: "input.slug", maxLength: 24},
				{name: "owner_scope", variable: "input.ownerScope", enum: true, allowed: []string{"workspace", "personal"}},
			}, settings...)},
		{Route: Route{http.MethodGet, one, "GetToolIntegration", dashboard, false, 200}},
		{Route: Route{http.MethodPut, one, "UpdateToolIntegration", dashboard, false, 200},
			from: body, input: true, fields: append([]field{{name: "name", variable: "input.name", maxLength: maxName, nonEmpty: true}}, settings...)},
		{Route: Route{http.MethodDelete, one, "DeleteToolIntegration", dashboard, false, 204}},
		{Route: Route{http.MethodPut, one + "/connection", "ConnectToolIntegration", dashboard, false, 200},
			from: body, fields: []field{{name: "credentials", variable: "credentials", kind: freeObject, required: true}}},
		{Route: Route{http.MethodDelete, one + "/connection", "DisconnectToolIntegration", dashboard, false, 204}},
		{Route: Route{http.MethodPost, one + "/authorize", "AuthorizeToolIntegration", dashboard, false, 200},
			from: body, startsFlow: true, fields: []field{{name: "redirectUrl", variable: "redirectUrl", maxLength: maxReturned}}},
		{Route: Route{http.MethodPost, one + "/test", "TestToolIntegration", dashboard, false, 200}},
		{Route: Route{http.MethodPost, one + "/refresh", "RefreshTools", dashboard, false, 200}},
		{Route: Route{http.MethodPut, one + "/tools", "SaveWebhookTool", dashboard, false, 200},
			from: body, input: true, fields: []field{
				{name: "name", variable: "input.name", required: true, maxLength: maxName, nonEmpty: true},
				{name: "title", variable: "input.title", maxLength: maxName},
				{name: "description", variable: "input.description", required: true, maxLength: maxToolText, nonEmpty: true},
				{name: "risk", variable: "input.risk", enum: true, allowed: risks},
				{name: "method", variable: "input.method", required: true, allowed: []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}},
				{name: "path", variable: "input.path", required: true, maxLength: 500, nonEmpty: true},
				{name: "query", variable: "input.query", kind: textList, maxItems: 100},
				{name: "body", variable: "input.body", kind: textList, maxItems: 100},
				{name: "input_schema", variable: "input.inputSchema", kind: freeObject, required: true},
				{name: "result", variable: "input.result", maxLength: maxName},
				{name: "timeout", variable: "input.timeout", kind: integer, bounds: &bounds{1, 30}},
			}},
		{Route: Route{http.MethodPost, one + "/import", "ImportTools", dashboard, false, 200},
			from: body, input: true, fields: []field{
				{name: "spec", variable: "input.spec"},
				{name: "url", variable: "input.url", maxLength: maxReturned},
				{name: "operations", variable: "input.operations", kind: textList, maxItems: 200},
				{name: "preview", variable: "input.preview", kind: boolean},
			}},
		{Route: Route{http.MethodPut, tool, "SetToolPolicy", dashboard, false, 200},
			from: body, input: true, fields: []field{
				{name: "enabled", variable: "input.enabled", kind: boolean},
				{name: "policy", variable: "input.policy", enum: true, nullable: true, allowed: []string{"allow", "ask", "deny"}},
				{name: "argument_rules", variable: "input.argumentRules", kind: freeObjects, maxItems: maxRules},
				{name: "timeout", variable: "input.timeout", kind: integer, bounds: &bounds{1, 120}},
			}},
		{Route: Route{http.MethodDelete, tool, "DeleteWebhookTool", dashboard, false, 204}},
		{Route: Route{http.MethodPost, tool + "/accept", "AcceptTool", dashboard, false, 200}},
		{Route: Route{http.MethodPost, tool + "/call", "CallTool", dashboard, false, 200},
			from: body, fields: []field{
				{name: "arguments", variable: "arguments", kind: freeObject, required: true},
				{name: "confirm", variable: "confirm", kind: boolean},
			}},
	}
}
