package stack_test

// seat is somebody's place in their workspace.
type seat struct{ workspace, session, member, invitation string }

// sit reads the seat of the signed-in person, and invites another one.
func (s *service) sit(guest string) seat {
	s.t.Helper()
	var rows struct {
		MySessions []struct{ ID, WorkspaceID string }
		Members    struct {
			Edges []struct{ Node struct{ ID string } }
		}
		InviteMember struct{ Invitation struct{ ID string } }
	}
	s.graphql(&rows, `{ mySessions { id workspaceId } members { edges { node { id } } } }`, nil)
	s.graphql(&rows, `mutation($e: String!) { inviteMember(input: {email: $e, role: EDITOR}) { invitation { id } } }`, map[string]any{"e": guest})
	if len(rows.MySessions) == 0 || len(rows.Members.Edges) == 0 {
		s.t.Fatalf("%+v", rows)
	}
	return seat{rows.MySessions[0].WorkspaceID, rows.MySessions[0].ID, rows.Members.Edges[0].Node.ID, rows.InviteMember.Invitation.ID}
}

// peopleIntrusions has one case for each route of people.
func peopleIntrusions(ada seat) map[string]intrusion {
	const auth, secret = "/api/v1/auth", "guess guess guess"
	members, invitations := "/api/v1/members", "/api/v1/invitations"
	member, invitation := members+"/"+ada.member, invitations+"/"+ada.invitation
	mine := map[string]any{"name": "Mine"}
	return map[string]intrusion{
		"GET /api/v1/auth/sign-up":                 {auth + "/sign-up", nil, 200},
		"POST /api/v1/auth/sign-up":                {auth + "/sign-up", map[string]any{"workspace": "Mine", "email": "eve2@example.com", "name": "Eve", "password": secret}, 403},
		"POST /api/v1/auth/reset-password":         {auth + "/reset-password", map[string]any{"token": "guess", "password": secret}, 404},
		"POST /api/v1/auth/invitation":             {auth + "/invitation", map[string]any{"token": "guess"}, 404},
		"POST /api/v1/auth/accept-invitation":      {auth + "/accept-invitation", map[string]any{"token": "guess", "name": "Eve", "password": secret}, 404},
		"POST /api/v1/auth/logout-everywhere":      {auth + "/logout-everywhere", nil, 200},
		"GET /api/v1/auth/me":                      {auth + "/me", nil, 200},
		"PUT /api/v1/auth/me":                      {auth + "/me", mine, 200},
		"PUT /api/v1/auth/password":                {auth + "/password", map[string]any{"current_password": "guess", "new_password": secret}, 401},
		"GET /api/v1/auth/sessions":                {auth + "/sessions", nil, 200},
		"DELETE /api/v1/auth/sessions/{id}":        {auth + "/sessions/" + ada.session, nil, 404},
		"GET /api/v1/auth/workspaces":              {auth + "/workspaces", nil, 200},
		"POST /api/v1/auth/workspaces":             {auth + "/workspaces", mine, 403},
		"POST /api/v1/auth/workspaces/{id}/switch": {auth + "/workspaces/" + ada.workspace + "/switch", nil, 404},
		"GET /api/v1/workspace":                    {"/api/v1/workspace", nil, 200},
		"PUT /api/v1/workspace":                    {"/api/v1/workspace", mine, 200},
		"DELETE /api/v1/workspace":                 {"/api/v1/workspace", map[string]any{"name": "Other one"}, 400},
		"POST /api/v1/workspace/leave":             {"/api/v1/workspace/leave", nil, 409},
		"GET /api/v1/members":                      {members, nil, 200},
		"GET /api/v1/members/{id}":                 {member, nil, 404},
		"PUT /api/v1/members/{id}":                 {member, map[string]any{"role": "viewer"}, 404},
		"DELETE /api/v1/members/{id}":              {member, nil, 404},
		"POST /api/v1/members/{id}/password-reset": {member + "/password-reset", nil, 404},
		"GET /api/v1/invitations":                  {invitations, nil, 200},
		"POST /api/v1/invitations":                 {invitations, map[string]any{"email": "new@example.com", "role": "viewer"}, 201},
		"POST /api/v1/invitations/accept":          {invitations + "/accept", map[string]any{"token": "guess"}, 404},
		"GET /api/v1/invitations/{id}":             {invitation, nil, 404},
		"DELETE /api/v1/invitations/{id}":          {invitation, nil, 404},
		"POST /api/v1/invitations/{id}/resend":     {invitation + "/resend", nil, 404},
	}
}
