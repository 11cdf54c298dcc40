package rest_test

// IDs of automations of the fixture.
const (
	automationID    = "018f0000-0000-801d-8000-000000000001"
	automationRunID = "018f0000-0000-801e-8000-000000000002"
)

// automationRows returns the results of the root fields of automations.
func automationRows() map[string]any {
	automation := object{
		"id": automationID, "name": "Mail answerer", "description": nil, "enabled": true, "agentId": agentID, "ownerId": missingID, "runAs": "OWNER",
		"instructions": "Answer {{event.text}}", "kind": "EMAIL", "trigger": object{"allowUnverified": false},
		"conditions": []any{object{"path": "subject", "op": "contains", "value": "Help"}}, "approval": object{"mode": "always"},
		"delivery": []any{object{"kind": "reply_email"}}, "limits": object{"runsPerHour": 60}, "dedupeKey": "", "failureCount": 0, "disabledReason": nil,
		"nextRunAt": nil, "lastRunAt": late, "createdAt": early, "updatedAt": late,
	}
	run := object{
		"id": automationRunID, "automationId": automationID, "eventId": inboundEventID, "title": "ada@example.com: Hello", "agentRunId": nil, "status": "WAITING",
		"reason": "a person must decide about the delivery of the answer", "errorClass": nil, "output": "Hello Ada",
		"deliveries": []any{object{"kind": "reply_email", "status": "pending", "target": "ada@example.com", "error": nil}}, "tokens": 1234, "retries": 0,
		"replayOf": nil, "startedAt": early, "waitingSince": late, "finishedAt": nil, "createdAt": early,
	}
	return map[string]any{
		"automations": page("end+of/automations", automation), "automation": automation, "createAutomation": automation, "updateAutomation": automation,
		"deleteAutomation": automationID, "automationRuns": page("", run), "automationRun": run, "runAutomation": run, "replayAutomationRun": run,
		"cancelAutomationRun": run,
		"automationTemplates": []any{object{
			"name": "mail_answerer", "title": "Mail answerer", "description": "Drafts an answer.", "kind": "EMAIL", "instructions": "Answer {{event.text}}",
			"trigger": object{}, "conditions": []any{}, "approval": object{"mode": "always"}, "delivery": []any{object{"kind": "reply_email"}}, "limits": object{},
		}},
	}
}

// automationExamples returns the requests of the transcripts of automations.
func automationExamples() map[string][]example {
	const all, one, run = "/api/v1/automations", "/api/v1/automations/" + automationID, "/api/v1/automation-runs/" + automationRunID
	return map[string][]example{
		"GET " + all:                {{target: all}, {target: all + "?kind=email&enabled=true&limit=5"}, {target: all + "?kind=fax"}, {target: all, bare: true}},
		"GET " + all + "/templates": {{target: all + "/templates"}},
		"POST " + all: {
			{target: all, body: `{"name":"Mail answerer","agent":"` + agentID + `","instructions":"Answer {{event.text}}","kind":"email","runAs":"owner","trigger":{"allowUnverified":false},
				"conditions":[{"path":"subject","op":"contains","value":"Help"}],"approval":{"mode":"always"},"delivery":[{"kind":"reply_email"}],"limits":{"runsPerHour":60}}`},
			{target: all, body: `{"name":"x"}`}, {target: all, body: `{"name":"x","agent":"` + agentID + `","instructions":"x","kind":"email","delivery":{}}`},
			{target: all, body: `{"name":"x","agent":"` + agentID + `","instructions":"x","kind":"email","delivery":["reply"]}`},
		},
		"GET " + all + "/{id}":                     {{target: one}, {target: all + "/" + missingID}, {target: all + "/x"}},
		"PUT " + all + "/{id}":                     {{target: one, body: `{"enabled":false,"conditions":[]}`}, {target: one, body: `{"enabled":"no"}`}},
		"DELETE " + all + "/{id}":                  {{target: one}},
		"POST " + all + "/{id}/run":                {{target: one + "/run"}, {target: one + "/run", body: `{"payload":{"text":"Hello"}}`}, {target: one + "/run", body: `{"payload":7}`}},
		"GET " + all + "/{id}/runs":                {{target: one + "/runs"}, {target: one + "/runs?status=skipped&limit=5"}, {target: one + "/runs?status=done"}},
		"GET /api/v1/automation-runs/{id}":         {{target: run}, {target: "/api/v1/automation-runs/" + missingID}},
		"POST /api/v1/automation-runs/{id}/replay": {{target: run + "/replay"}, {target: "/api/v1/automation-runs/x/replay"}},
		"POST /api/v1/automation-runs/{id}/cancel": {{target: run + "/cancel"}},
	}
}
