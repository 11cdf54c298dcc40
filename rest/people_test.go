package rest_test

// peopleRows returns the results of the root fields of people.
func peopleRows(tokens object) map[string]any {
	person := object{"id": messageID, "email": "ada@example.com", "name": "Ada", "emailVerified": false, "createdAt": early, "preferences": object{"language": "de", "theme": "DARK", "timeZone": nil, "hideFirstSteps": true}}
	place := object{"id": otherID, "name": "Acme", "createdAt": early, "updatedAt": late}
	member := object{"id": memberID, "role": "EDITOR", "suspendedAt": nil, "createdAt": early, "updatedAt": late, "user": person}
	invitation := object{
		"id": invitationID, "email": "grace@example.com", "role": "VIEWER", "status": "PENDING", "invitedBy": nil, "createdAt": early, "sentAt": early,
		"expiresAt": late, "acceptedAt": nil, "revokedAt": nil,
	}
	invited := object{"invitation": invitation, "token": "token", "url": "https://app.example.com/accept-invitation#token=token"}
	return map[string]any{
		"signUpAllowed": true, "signUp": tokens, "resetPassword": tokens, "acceptInvitation": tokens, "switchWorkspace": tokens,
		"invitationOfToken": object{"workspace": "Acme", "email": "grace@example.com", "role": "VIEWER", "expiresAt": late, "hasAccount": false},
		"signOutEverywhere": true, "me": object{"user": person, "workspace": place, "role": "OWNER", "hasPassword": true}, "updateProfile": person,
		"changePassword": true, "endSession": jobID, "createWorkspace": place, "updateWorkspace": place, "deleteWorkspace": true, "leaveWorkspace": true,
		"mySessions":   []any{object{"id": jobID, "workspaceId": otherID, "application": "", "userAgent": "Firefox", "address": "192.0.2.1", "createdAt": early, "lastUsedAt": late, "expiresAt": late, "current": true}},
		"myWorkspaces": []any{object{"id": otherID, "name": "Acme", "role": "OWNER", "joinedAt": early, "current": true}},
		"members":      page("end+of/members", member), "member": member, "updateMember": member, "removeMember": memberID,
		"createPasswordReset": object{"token": "token", "url": "https://app.example.com/reset-password#token=token", "expiresAt": late},
		"invitations":         page("", invitation), "invitation": invitation, "inviteMember": invited, "resendInvitation": invited, "revokeInvitation": invitation,
	}
}

// peopleExamples returns the requests of the transcripts of people.
func peopleExamples() map[string][]example {
	const (
		auth        = "/api/v1/auth"
		member      = "/api/v1/members/" + memberID
		invitation  = "/api/v1/invitations/" + invitationID
		invitations = "/api/v1/invitations"
	)
	return map[string][]example{
		"GET /api/v1/auth/sign-up": {{target: auth + "/sign-up"}},
		"POST /api/v1/auth/sign-up": {
			{target: auth + "/sign-up", body: `{"workspace":"Acme","email":"ada@example.com","name":"Ada","password":"correct horse battery"}`},
			{target: auth + "/sign-up", body: `{"workspace":" ","email":"ada@example.com","name":"Ada","password":"correct horse battery"}`},
			{target: auth + "/sign-up", body: `{"workspace":"Acme"}`},
			{target: auth + "/sign-up"},
		},
		"POST /api/v1/auth/reset-password": {
			{target: auth + "/reset-password", body: `{"token":"token","password":"correct horse battery"}`},
			{target: auth + "/reset-password", body: `{"token":"","password":"x"}`},
		},
		"POST /api/v1/auth/invitation": {{target: auth + "/invitation", body: `{"token":"token"}`}, {target: auth + "/invitation", body: `{}`}},
		"POST /api/v1/auth/accept-invitation": {
			{target: auth + "/accept-invitation", body: `{"token":"token","name":"Grace","password":"correct horse battery"}`},
			{target: auth + "/accept-invitation", body: `{"token":"token","password":"correct horse battery"}`},
			{target: auth + "/accept-invitation", body: `{"token":"token"}`},
		},
		"POST /api/v1/auth/logout-everywhere": {{target: auth + "/logout-everywhere"}, {target: auth + "/logout-everywhere", bare: true}},
		"GET /api/v1/auth/me":                 {{target: auth + "/me"}, {target: auth + "/me", bare: true}},
		"PUT /api/v1/auth/me": {{target: auth + "/me", body: `{"name":"Ada L."}`}, {target: auth + "/me", body: `{"name":" "}`},
			{target: auth + "/me", body: `{"preferences":{"language":"de","theme":"dark","time_zone":null,"hide_first_steps":true}}`}, {target: auth + "/me", body: `{"preferences":{"theme":"blue"}}`}},
		"PUT /api/v1/auth/password": {
			{target: auth + "/password", body: `{"current_password":"correct horse battery","new_password":"another horse battery"}`},
			{target: auth + "/password", body: `{"new_password":"another horse battery"}`},
		},
		"GET /api/v1/auth/sessions":         {{target: auth + "/sessions"}},
		"DELETE /api/v1/auth/sessions/{id}": {{target: auth + "/sessions/" + jobID}, {target: auth + "/sessions/" + missingID}, {target: auth + "/sessions/x"}},
		"GET /api/v1/auth/workspaces":       {{target: auth + "/workspaces"}},
		"POST /api/v1/auth/workspaces":      {{target: auth + "/workspaces", body: `{"name":"Acme"}`}, {target: auth + "/workspaces"}},
		"POST /api/v1/auth/workspaces/{id}/switch": {
			{target: auth + "/workspaces/" + otherID + "/switch"}, {target: auth + "/workspaces/" + missingID + "/switch"}, {target: auth + "/workspaces/x/switch"},
		},
		"GET /api/v1/workspace":        {{target: "/api/v1/workspace"}},
		"PUT /api/v1/workspace":        {{target: "/api/v1/workspace", body: `{"name":"Acme"}`}, {target: "/api/v1/workspace", body: `{}`}},
		"DELETE /api/v1/workspace":     {{target: "/api/v1/workspace", body: `{"name":"Acme"}`}, {target: "/api/v1/workspace"}},
		"POST /api/v1/workspace/leave": {{target: "/api/v1/workspace/leave"}},
		"GET /api/v1/members": {
			{target: "/api/v1/members"}, {target: "/api/v1/members?text=ada&role=editor&limit=1"}, {target: "/api/v1/members?role=EDITOR"}, {target: "/api/v1/members", bare: true},
		},
		"GET /api/v1/members/{id}":                 {{target: member}, {target: "/api/v1/members/" + missingID}, {target: "/api/v1/members/x"}},
		"PUT /api/v1/members/{id}":                 {{target: member, body: `{"role":"admin"}`}, {target: member, body: `{"role":"boss"}`}, {target: member}},
		"DELETE /api/v1/members/{id}":              {{target: member}, {target: "/api/v1/members/" + missingID}},
		"POST /api/v1/members/{id}/password-reset": {{target: member + "/password-reset"}},
		"GET /api/v1/invitations":                  {{target: invitations}, {target: invitations + "?status=pending"}, {target: invitations + "?status=open"}},
		"POST /api/v1/invitations":                 {{target: invitations, body: `{"email":"grace@example.com","role":"viewer"}`}, {target: invitations, body: `{"email":"grace@example.com"}`}},
		"POST /api/v1/invitations/accept":          {{target: invitations + "/accept", body: `{"token":"token"}`}, {target: invitations + "/accept", body: `{"token":"token"}`, bare: true}},
		"GET /api/v1/invitations/{id}":             {{target: invitation}, {target: invitations + "/" + missingID}, {target: invitations + "/accept"}},
		"DELETE /api/v1/invitations/{id}":          {{target: invitation}},
		"POST /api/v1/invitations/{id}/resend":     {{target: invitation + "/resend"}, {target: invitations + "/" + missingID + "/resend"}},
	}
}
