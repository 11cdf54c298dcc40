package rest_test

// IDs of approvals of the fixture.
const (
	approvalID  = "018f0000-0000-8019-8000-000000000001"
	toolGrantID = "018f0000-0000-801f-8000-000000000002"
)

// approvalRows returns the results of the root fields of approvals.
func approvalRows() map[string]any {
	approval := object{
		"id": approvalID, "kind": "CONSENT", "status": "PENDING", "risk": "SEND", "tool": "gmail.send", "toolTitle": "Send a mail", "title": "Send a mail to ada@example.com",
		"preview": "**Hello**", "reason": "She asked for it.", "arguments": `{"to": "ada@example.com"}`, "argumentsHash": "ab12", "options": []any{}, "runId": runID,
		"agentId": agentID, "callId": "call_1", "integrationId": nil, "mayDecide": true, "approverRole": "ADMIN", "approverIds": []any{otherID}, "selfApproval": true,
		"comment": nil, "editedArguments": nil, "answer": nil, "requestedAt": early, "expiresAt": late, "decidedAt": nil, "decidedBy": nil, "decidedVia": nil,
	}
	grant := object{
		"id": toolGrantID, "agentId": agentID, "tool": "gmail.send", "scope": "RUN", "runId": runID, "conversationId": nil, "personId": otherID,
		"approvalId": approvalID, "createdBy": otherID, "createdAt": early, "revokedAt": nil,
	}
	settings := object{"toolPolicy": object{"risks": object{"delete": "deny"}}, "slackIntegrationId": integrationID, "slackChannel": "C024BE91L"}
	return map[string]any{
		"approvals": page("end+of/approvals", approval), "approval": approval, "decideApproval": approval,
		"toolGrants": page("", grant), "revokeToolGrant": grant, "approvalSettings": settings, "updateApprovalSettings": settings,
	}
}

// approvalExamples returns the requests of the transcripts of approvals.
func approvalExamples() map[string][]example {
	const all, one, settings = "/api/v1/approvals", "/api/v1/approvals/" + approvalID, "/api/v1/approval-settings"
	const agent, grants = "/api/v1/agents/" + agentID, "/api/v1/tool-grants/"
	return map[string][]example{
		"GET " + all: {
			{target: all}, {target: all + "?status=pending&mine=true&run=" + runID + "&limit=5"}, {target: all + "?status=done"}, {target: all + "?mine=perhaps"}, {target: all, bare: true},
		},
		"GET " + all + "/{id}": {{target: one}, {target: all + "/" + missingID}, {target: all + "/x"}},
		"POST " + all + "/{id}/approve": {
			{target: one + "/approve"},
			{target: one + "/approve", body: `{"comment":"Fine.","arguments":{"to":"bob@example.com","size":12345678901234567890},"remember":"run","confirm":"gmail.send","argumentsHash":"ab12"}`},
			{target: one + "/approve", body: `{"remember":"always"}`}, {target: one + "/approve", body: `{"arguments":[]}`}, {target: all + "/" + missingID + "/approve"},
		},
		"POST " + all + "/{id}/reject":        {{target: one + "/reject", body: `{"comment":"Too early."}`}, {target: one + "/reject", body: `{"comment":7}`}},
		"POST " + all + "/{id}/answer":        {{target: one + "/answer", body: `{"answer":"Yes"}`}, {target: one + "/answer", body: `{"answer":" "}`}, {target: one + "/answer"}},
		"GET /api/v1/agents/{id}/tool-grants": {{target: agent + "/tool-grants"}, {target: agent + "/tool-grants?limit=0"}},
		"DELETE /api/v1/tool-grants/{id}":     {{target: grants + toolGrantID}, {target: grants + "x"}},
		"GET " + settings:                     {{target: settings}},
		"PUT " + settings: {
			{target: settings, body: `{"toolPolicy":{"risks":{"delete":"deny"}},"slackIntegrationId":"` + integrationID + `","slackChannel":"C024BE91L"}`},
			{target: settings, body: `{"toolPolicy":null,"slackIntegrationId":null,"slackChannel":null}`}, {target: settings, body: `{"toolPolicy":"ask"}`},
		},
	}
}
