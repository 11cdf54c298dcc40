package rest_test

// IDs of inbound integrations of the fixture.
const (
	integrationID  = "018f0000-0000-801b-8000-000000000001"
	inboundEventID = "018f0000-0000-801c-8000-000000000002"
)

// inboundRows returns the results of the root fields of inbound integrations.
func inboundRows(kind object) map[string]any {
	integration := object{
		"id": integrationID, "kind": "EMAIL", "provider": "postmark", "name": "Support", "enabled": true, "config": object{"Addresses": []any{"help@example.com"}},
		"url": "https://magpie.example.com/api/v1/webhooks/email/postmark/" + integrationID, "token": "abc", "status": "UNVERIFIED", "lastEventAt": nil,
		"lastError": nil, "rejected": 2, "previousUntil": nil, "createdAt": early,
		"subscription": object{"expiresAt": late, "renewsAt": late, "error": nil}, "updatedAt": late,
	}
	shown := object{"integration": integration, "url": "https://magpie:s3cret@magpie.example.com/", "secret": "s3cret", "instructions": "Paste it."}
	event := object{
		"id": inboundEventID, "integrationId": integrationID, "providerEventId": "1", "type": "email", "receivedAt": early, "occurredAt": nil,
		"summary": "ada@example.com: Hello", "size": 1234, "status": "IGNORED", "reason": "no automation matches", "automationIds": []any{}, "documentId": nil,
		"attempts": 1, "processedAt": late,
	}
	return map[string]any{
		"inboundIntegrations": page("end+of/inbound", integration), "inboundIntegration": integration,
		"inboundProviders": []any{object{
			"name": "postmark", "title": "Postmark", "description": "Mails.", "kind": "EMAIL", "instructions": "Paste it.", "options": kind["options"],
			"credentials": kind["credentials"], "secret": "password", "generatesSecret": true, "documentation": nil,
		}},
		"createInboundIntegration": shown, "updateInboundIntegration": integration, "deleteInboundIntegration": integrationID, "rotateInboundSecret": shown,
		"testInboundIntegration": object{"ok": true, "message": "Ready", "details": object{"status": "ok"}},
		"inboundEvents":          page("", event), "resendInboundEvent": event,
	}
}

// inboundExamples returns the requests of the transcripts of inbound integrations.
func inboundExamples() map[string][]example {
	const all, one, events = "/api/v1/integrations/inbound", "/api/v1/integrations/inbound/" + integrationID, "/api/v1/inbound-events/"
	return map[string][]example{
		"GET " + all:                {{target: all}, {target: all + "?kind=email&provider=postmark&limit=5"}, {target: all + "?kind=fax"}, {target: all, bare: true}},
		"GET " + all + "/providers": {{target: all + "/providers"}},
		"POST " + all: {
			{target: all, body: `{"provider":"postmark","name":"Support","enabled":true,"config":{"addresses":["help@example.com"]},"credentials":{"password":"p"}}`},
			{target: all, body: `{"name":"Support"}`}, {target: all, body: `{"provider":"postmark","name":" "}`}, {target: all, body: `{"provider":"postmark","name":"x","config":[]}`},
		},
		"GET " + all + "/{id}":    {{target: one}, {target: all + "/" + missingID}, {target: all + "/x"}},
		"PUT " + all + "/{id}":    {{target: one, body: `{"name":"Help","enabled":false,"config":{"addresses":null}}`}, {target: one, body: `{"enabled":"no"}`}},
		"DELETE " + all + "/{id}": {{target: one}},
		"POST " + all + "/{id}/rotate-secret": {
			{target: one + "/rotate-secret"}, {target: one + "/rotate-secret", body: `{"secret":"n3w"}`}, {target: one + "/rotate-secret", body: `{"secret":7}`},
		},
		"POST " + all + "/{id}/test":              {{target: one + "/test"}, {target: all + "/" + missingID + "/test"}},
		"GET " + all + "/{id}/events":             {{target: one + "/events"}, {target: one + "/events?status=failed&limit=5"}, {target: one + "/events?status=done"}},
		"POST /api/v1/inbound-events/{id}/resend": {{target: events + inboundEventID + "/resend"}, {target: events + "x/resend"}},
	}
}
