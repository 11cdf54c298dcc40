package rest_test

// IDs of integrations with tools of the fixture.
const (
	toolIntegrationID = "018f0000-0000-8018-8000-000000000001"
	toolID            = "018f0000-0000-801d-8000-000000000002"
	toolConnectionID  = "018f0000-0000-801e-8000-000000000003"
)

// toolRows returns the results of the root fields of integrations with tools.
func toolRows(kind object) map[string]any {
	schema := object{"type": "object", "properties": object{"id": object{"type": "integer"}}}
	tool := object{
		"id": toolID, "name": "get_ticket", "title": "Read a ticket", "description": "Reads one ticket.", "inputSchema": schema, "risk": "READ", "callPolicy": nil,
		"argumentRules": []any{object{"path": "id", "op": "gt", "value": 100, "policy": "ask"}}, "timeout": 30, "enabled": true, "drift": nil,
	}
	connection := object{"id": toolConnectionID, "personId": "018f0000-0000-8002-8000-000000000001", "grantId": nil, "status": "ACTIVE", "lastCheckedAt": late, "lastError": nil}
	integration := object{
		"id": toolIntegrationID, "kind": "WEBHOOK", "provider": "webhook", "name": "Desk", "slug": "desk", "ownerScope": "WORKSPACE", "credentialsOf": "PERSON",
		"enabled": true, "config": object{"url": "https://desk.example.com"}, "status": "ACTIVE", "changedTools": 1, "discoveredAt": early, "lastError": nil,
		"connections": []any{connection}, "tools": []any{tool}, "createdAt": early, "updatedAt": late,
	}
	return map[string]any{
		"toolIntegrations": page("end+of/tools", integration), "toolIntegration": integration, "createToolIntegration": integration, "updateToolIntegration": integration,
		"deleteToolIntegration": toolIntegrationID, "connectToolIntegration": integration, "disconnectToolIntegration": integration,
		"authorizeToolIntegration": object{"authorizationUrl": "https://accounts.example.com/authorize?state=s", "binding": "b1nding"},
		"testToolIntegration":      object{"ok": false, "message": "Desk does not accept the credentials", "needsAuth": true},
		"refreshTools":             object{"integration": integration, "added": []any{"get_ticket"}, "changed": []any{}},
		"toolProviders": []any{object{
			"name": "jira", "title": "Jira", "summary": "Issues.", "kind": "PACK", "group": "business", "options": kind["options"], "credentials": kind["credentials"],
			"oauth": "atlassian", "tools": []any{object{"name": "search", "title": "Search", "description": "Finds issues.", "risk": "READ", "policy": "ALLOW", "parameters": schema}},
		}},
		"saveWebhookTool": tool, "setToolPolicy": tool, "acceptTool": tool, "deleteWebhookTool": toolID,
		"importTools": object{"skipped": []any{"POST /files: its body is no JSON"}, "operations": []any{object{
			"name": "get_ticket", "title": "Read a ticket", "description": "Reads one ticket.", "method": "GET", "path": "/tickets/{id}", "risk": "READ", "inputSchema": schema, "exists": false,
		}}},
		"callTool": object{"ok": true, "text": `{"id":7}`, "preview": nil},
	}
}

// toolExamples returns the requests of the transcripts of integrations with tools.
func toolExamples() map[string][]example {
	const all, one = "/api/v1/tool-integrations", "/api/v1/tool-integrations/" + toolIntegrationID
	const tool = "/api/v1/tools/" + toolID
	return map[string][]example{
		"GET " + all:                {{target: all}, {target: all + "?kind=webhook&provider=webhook&limit=5"}, {target: all + "?kind=fax"}, {target: all, bare: true}},
		"GET " + all + "/providers": {{target: all + "/providers"}},
		"POST " + all: {
			{target: all, body: `{"provider":"webhook","name":"Desk","slug":"desk","owner_scope":"workspace","credentials_of":"person","config":{"url":"https://desk.example.com"},"credentials":{"auth_secret":"s3cret"}}`},
			{target: all, body: `{"name":"Desk"}`}, {target: all, body: `{"provider":"jira","name":"x","owner_scope":"team"}`},
		},
		"GET " + all + "/{id}":    {{target: one}, {target: all + "/" + missingID}, {target: all + "/x"}},
		"PUT " + all + "/{id}":    {{target: one, body: `{"name":"Help","enabled":false,"config":{"url":null}}`}, {target: one, body: `{"enabled":"no"}`}},
		"DELETE " + all + "/{id}": {{target: one}},
		"PUT " + all + "/{id}/connection": {
			{target: one + "/connection", body: `{"credentials":{"auth_secret":"s3cret"}}`}, {target: one + "/connection", body: `{}`},
		},
		"DELETE " + all + "/{id}/connection": {{target: one + "/connection"}},
		"POST " + all + "/{id}/authorize": {
			{target: one + "/authorize", body: `{"redirectUrl":"https://app.example.com/tools"}`}, {target: one + "/authorize"}, {target: one + "/authorize", body: `{"redirectUrl":7}`},
		},
		"POST " + all + "/{id}/test":    {{target: one + "/test"}, {target: all + "/" + missingID + "/test"}},
		"POST " + all + "/{id}/refresh": {{target: one + "/refresh"}},
		"PUT " + all + "/{id}/tools": {
			{target: one + "/tools", body: `{"name":"get_ticket","description":"Reads one ticket.","method":"GET","path":"/tickets/{id}","query":["fields"],"input_schema":{"type":"object","properties":{"id":{"type":"integer"}}},"result":"$.ticket","timeout":10}`},
			{target: one + "/tools", body: `{"name":"get_ticket","description":"Reads one ticket.","method":"FETCH","path":"/tickets","input_schema":{}}`},
			{target: one + "/tools", body: `{"name":"get_ticket"}`},
		},
		"POST " + all + "/{id}/import": {
			{target: one + "/import", body: `{"spec":"openapi: 3.0.3","operations":["get_ticket"],"preview":true}`}, {target: one + "/import", body: `{"operations":"all"}`},
		},
		"PUT /api/v1/tools/{id}": {
			{target: tool, body: `{"enabled":true,"policy":"ask","argument_rules":[{"path":"id","op":"gt","value":100,"policy":"deny"}],"timeout":60}`},
			{target: tool, body: `{"policy":null}`}, {target: tool, body: `{"policy":"perhaps"}`}, {target: tool, body: `{"argument_rules":["id"]}`},
		},
		"DELETE /api/v1/tools/{id}":      {{target: tool}},
		"POST /api/v1/tools/{id}/accept": {{target: tool + "/accept"}, {target: "/api/v1/tools/x/accept"}},
		"POST /api/v1/tools/{id}/call": {
			{target: tool + "/call", body: `{"arguments":{"id":7},"confirm":true}`}, {target: tool + "/call", body: `{"arguments":[7]}`},
		},
	}
}
