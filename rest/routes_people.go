package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// peopleRoutes returns the routes of accounts, sessions, workspaces and members.
// Those below /api/v1/auth have names in snake case, like the token routes.
func peopleRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	var (
		name     = field{name: "name", variable: "input.name", required: true, maxLength: maxName, nonEmpty: true}
		token    = field{name: "token", variable: "input.token", required: true, nonEmpty: true}
		password = field{name: "password", variable: "input.password", required: true}
		role     = field{name: "role", variable: "input.role", required: true, enum: true, allowed: roles()}
	)
	const closed, unknown, taken, often = http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests
	return []*route{
		{Route: Route{http.MethodGet, "/api/v1/auth/sign-up", "GetSignUp", dashboard, true, 200}, answer: "."},
		{Route: Route{http.MethodPost, "/api/v1/auth/sign-up", "CreateAccount", dashboard, true, 201},
			from: body, input: true, statuses: []int{closed, taken}, fields: []field{
				{name: "workspace", variable: "input.workspace", required: true, maxLength: maxName, nonEmpty: true, description: "Name of the workspace."},
				{name: "email", variable: "input.email", required: true}, name, password,
			}},
		{Route: Route{http.MethodPost, "/api/v1/auth/reset-password", "ResetPassword", dashboard, true, 200},
			from: body, input: true, statuses: []int{unknown}, fields: []field{token, password}},
		{Route: Route{http.MethodPost, "/api/v1/auth/invitation", "GetInvitationOffer", dashboard, true, 200},
			from: body, statuses: []int{unknown, taken}, fields: []field{{name: "token", variable: "token", required: true, nonEmpty: true}}},
		{Route: Route{http.MethodPost, "/api/v1/auth/accept-invitation", "AcceptInvitation", dashboard, true, 200},
			from: body, input: true, statuses: []int{unknown, taken}, fields: []field{
				token, {name: "name", variable: "input.name", maxLength: maxName}, password,
			}},
		{Route: Route{http.MethodPost, "/api/v1/auth/logout-everywhere", "SignOutEverywhere", dashboard, false, 200}, answer: ".", endsSession: true},
		{Route: Route{http.MethodGet, "/api/v1/auth/me", "GetMe", dashboard, false, 200}},
		{Route: Route{http.MethodPut, "/api/v1/auth/me", "UpdateProfile", dashboard, false, 200},
			from: body, input: true, fields: []field{
				{name: "name", variable: "input.name", maxLength: maxName, nonEmpty: true},
				{name: "preferences", kind: group, fields: []field{
					{name: "language", variable: "input.preferences.language", nullable: true, maxLength: 35},
					{name: "theme", variable: "input.preferences.theme", enum: true, allowed: []string{"light", "dark", "system"}},
					{name: "time_zone", variable: "input.preferences.timeZone", nullable: true, maxLength: 64},
					{name: "hide_first_steps", variable: "input.preferences.hideFirstSteps", kind: boolean},
				}},
			}},
		{Route: Route{http.MethodPut, "/api/v1/auth/password", "ChangePassword", dashboard, false, 200},
			from: body, input: true, answer: ".", statuses: []int{often}, fields: []field{
				{name: "current_password", variable: "input.currentPassword", required: true},
				{name: "new_password", variable: "input.newPassword", required: true},
			}},
		{Route: Route{http.MethodGet, "/api/v1/auth/sessions", "ListMySessions", dashboard, false, 200}},
		{Route: Route{http.MethodDelete, "/api/v1/auth/sessions/{id}", "EndSession", dashboard, false, 204}},
		{Route: Route{http.MethodGet, "/api/v1/auth/workspaces", "ListMyWorkspaces", dashboard, false, 200}},
		{Route: Route{http.MethodPost, "/api/v1/auth/workspaces", "CreateWorkspace", dashboard, false, 201}, from: body, input: true, fields: []field{name}},
		{Route: Route{http.MethodPost, "/api/v1/auth/workspaces/{id}/switch", "SwitchWorkspace", dashboard, false, 200}},

		{Route: Route{http.MethodGet, "/api/v1/workspace", "GetWorkspace", dashboard, false, 200}, answer: "data.workspace"},
		{Route: Route{http.MethodPut, "/api/v1/workspace", "UpdateWorkspace", dashboard, false, 200}, from: body, input: true, fields: []field{name}},
		{Route: Route{http.MethodDelete, "/api/v1/workspace", "DeleteWorkspace", dashboard, false, 204}, from: body, input: true, fields: []field{
			{name: "name", variable: "input.name", required: true, description: "The exact name of the workspace, as a confirmation."}}},
		{Route: Route{http.MethodPost, "/api/v1/workspace/leave", "LeaveWorkspace", dashboard, false, 200}, answer: "."},

		{Route: Route{http.MethodGet, "/api/v1/members", "ListMembers", dashboard, false, 200}, pages: "data", fields: []field{
			{name: "text", variable: "text", maxLength: maxName, description: "Only members whose name or email address contains this."},
			{name: "role", variable: "role", enum: true, allowed: roles()},
		}},
		{Route: Route{http.MethodGet, "/api/v1/members/{id}", "GetMember", dashboard, false, 200}},
		{Route: Route{http.MethodPut, "/api/v1/members/{id}", "UpdateMember", dashboard, false, 200}, from: body, input: true, fields: []field{role}},
		{Route: Route{http.MethodDelete, "/api/v1/members/{id}", "RemoveMember", dashboard, false, 204}},
		{Route: Route{http.MethodPost, "/api/v1/members/{id}/password-reset", "CreatePasswordReset", dashboard, false, 201}},

		{Route: Route{http.MethodGet, "/api/v1/invitations", "ListInvitations", dashboard, false, 200}, pages: "data", fields: []field{
			{name: "status", variable: "status", enum: true, allowed: []string{"pending", "accepted", "expired", "revoked"}}}},
		{Route: Route{http.MethodPost, "/api/v1/invitations", "CreateInvitation", dashboard, false, 201},
			from: body, input: true, fields: []field{{name: "email", variable: "input.email", required: true}, role}},
		{Route: Route{http.MethodPost, "/api/v1/invitations/accept", "AcceptInvitation", dashboard, false, 200},
			from: body, input: true, statuses: []int{unknown}, fields: []field{token}},
		{Route: Route{http.MethodGet, "/api/v1/invitations/{id}", "GetInvitation", dashboard, false, 200}},
		{Route: Route{http.MethodDelete, "/api/v1/invitations/{id}", "RevokeInvitation", dashboard, false, 204}},
		{Route: Route{http.MethodPost, "/api/v1/invitations/{id}/resend", "ResendInvitation", dashboard, false, 200}},
	}
}

func roles() []string { return []string{"viewer", "editor", "admin", "owner"} }
