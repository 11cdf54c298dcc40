package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// routesPeople are the accounts of people, their sessions and workspaces, and
// the members of a workspace. What lies under /api/v1/auth speaks snake_case, as
// the tokens do.
func routesPeople() []*route {
	const dashboard = viewer.SurfaceDashboard
	var (
		name     = field{name: "name", variable: "input.name", required: true, longest: maxName, filled: true}
		token    = field{name: "token", variable: "input.token", required: true, filled: true}
		password = field{name: "password", variable: "input.password", required: true}
		role     = field{name: "role", variable: "input.role", required: true, upper: true, allowed: roles()}
	)
	const closed, unknown, taken, often = http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests
	return []*route{
		{Route: Route{http.MethodGet, "/api/v1/auth/sign-up", "GetSignUp", dashboard, true, 200}, answer: "."},
		{Route: Route{http.MethodPost, "/api/v1/auth/sign-up", "CreateAccount", dashboard, true, 201},
			from: body, input: true, also: []int{closed, taken}, fields: []field{
				{name: "workspace", variable: "input.workspace", required: true, longest: maxName, filled: true, about: "Name of the workspace."},
				{name: "email", variable: "input.email", required: true}, name, password,
			}},
		{Route: Route{http.MethodPost, "/api/v1/auth/reset-password", "ResetPassword", dashboard, true, 200},
			from: body, input: true, also: []int{unknown}, fields: []field{token, password}},
		{Route: Route{http.MethodPost, "/api/v1/auth/invitation", "GetInvitationOffer", dashboard, true, 200},
			from: body, also: []int{unknown, taken}, fields: []field{{name: "token", variable: "token", required: true, filled: true}}},
		{Route: Route{http.MethodPost, "/api/v1/auth/accept-invitation", "AcceptInvitation", dashboard, true, 200},
			from: body, input: true, also: []int{unknown, taken}, fields: []field{
				token, {name: "name", variable: "input.name", longest: maxName}, password,
			}},
		{Route: Route{http.MethodPost, "/api/v1/auth/logout-everywhere", "SignOutEverywhere", dashboard, false, 200}, answer: "."},
		{Route: Route{http.MethodGet, "/api/v1/auth/me", "GetMe", dashboard, false, 200}},
		{Route: Route{http.MethodPut, "/api/v1/auth/me", "UpdateProfile", dashboard, false, 200}, from: body, input: true, fields: []field{name}},
		{Route: Route{http.MethodPut, "/api/v1/auth/password", "ChangePassword", dashboard, false, 200},
			from: body, input: true, answer: ".", also: []int{often}, fields: []field{
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
			{name: "name", variable: "input.name", required: true, about: "The name of the workspace, exactly, as a confirmation."}}},
		{Route: Route{http.MethodPost, "/api/v1/workspace/leave", "LeaveWorkspace", dashboard, false, 200}, answer: "."},

		{Route: Route{http.MethodGet, "/api/v1/members", "ListMembers", dashboard, false, 200}, pages: "data", fields: []field{
			{name: "text", variable: "text", longest: maxName, about: "What names or email addresses contain."},
			{name: "role", variable: "role", upper: true, allowed: roles()},
		}},
		{Route: Route{http.MethodGet, "/api/v1/members/{id}", "GetMember", dashboard, false, 200}},
		{Route: Route{http.MethodPut, "/api/v1/members/{id}", "UpdateMember", dashboard, false, 200}, from: body, input: true, fields: []field{role}},
		{Route: Route{http.MethodDelete, "/api/v1/members/{id}", "RemoveMember", dashboard, false, 204}},
		{Route: Route{http.MethodPost, "/api/v1/members/{id}/password-reset", "CreatePasswordReset", dashboard, false, 201}},

		{Route: Route{http.MethodGet, "/api/v1/invitations", "ListInvitations", dashboard, false, 200}, pages: "data", fields: []field{
			{name: "status", variable: "status", upper: true, allowed: []string{"pending", "accepted", "expired", "revoked"}}}},
		{Route: Route{http.MethodPost, "/api/v1/invitations", "CreateInvitation", dashboard, false, 201},
			from: body, input: true, fields: []field{{name: "email", variable: "input.email", required: true}, role}},
		{Route: Route{http.MethodPost, "/api/v1/invitations/accept", "AcceptInvitation", dashboard, false, 200},
			from: body, input: true, also: []int{unknown}, fields: []field{token}},
		{Route: Route{http.MethodGet, "/api/v1/invitations/{id}", "GetInvitation", dashboard, false, 200}},
		{Route: Route{http.MethodDelete, "/api/v1/invitations/{id}", "RevokeInvitation", dashboard, false, 204}},
		{Route: Route{http.MethodPost, "/api/v1/invitations/{id}/resend", "ResendInvitation", dashboard, false, 200}},
	}
}

func roles() []string { return []string{"viewer", "editor", "admin", "owner"} }
