package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// maxReturned is the maximum length of the parameters of a provider's redirect, in
// characters.
const maxReturned = 4000

// signOnRoutes returns the routes of sign-in by an OpenID provider or by SAML, and of
// OAuth connections.
func signOnRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	returned := []field{
		{name: "state", variable: "input.state", required: true, maxLength: maxReturned, description: "The state of the authorization URL. It is valid once, for ten minutes."},
		{name: "code", variable: "input.code", maxLength: maxReturned, description: "The authorization code."},
		{name: "error", variable: "input.error", maxLength: maxReturned, description: "The error code of the provider, such as access_denied."},
		{name: "error_description", variable: "input.errorDescription", maxLength: maxReturned, description: "The error description of the provider."},
	}
	issuer := field{name: "iss", variable: "input.issuer", maxLength: maxReturned, description: "The issuer, if the provider sends it (RFC 9207)."}
	return []*route{
		{Route: Route{http.MethodGet, "/api/v1/auth/methods", "SignInMethods", dashboard, true, 200}},
		{Route: Route{http.MethodPost, "/api/v1/auth/oidc/start", "StartOIDCSignIn", dashboard, true, 200},
			from: body, fields: []field{{name: "redirect_url", variable: "redirectUrl", maxLength: maxReturned,
				description: "The final redirect target: a URL of this service or of one of DASHBOARD_ORIGINS. Without it, the callback returns JSON."}}},
		{Route: Route{http.MethodGet, "/api/v1/auth/oidc/callback", "AnswerOIDCSignIn", dashboard, true, 200},
			from: query, fields: append(returned[:len(returned):len(returned)], issuer), input: true, mayForbid: true, redirect: "data.redirect_url"},
		{Route: Route{http.MethodPost, "/api/v1/auth/oidc/finish", "FinishOIDCSignIn", dashboard, true, 200},
			from: body, mayForbid: true, fields: []field{
				{name: "code", variable: "code", required: true, maxLength: maxReturned},
				{name: "binding", variable: "binding", required: true, maxLength: maxReturned},
			}},
		{Route: Route{http.MethodPost, "/api/v1/auth/saml/start", "StartSAMLSignIn", dashboard, true, 200},
			from: body, fields: []field{{name: "redirect_url", variable: "redirectUrl", maxLength: maxReturned,
				description: "The final redirect target: a URL of this service or of one of DASHBOARD_ORIGINS. Without it, the response of the provider is answered with JSON."}}},
		{Route: Route{http.MethodPost, "/api/v1/auth/saml/finish", "FinishSAMLSignIn", dashboard, true, 200},
			from: body, mayForbid: true, fields: []field{
				{name: "code", variable: "code", required: true, maxLength: maxReturned},
				{name: "binding", variable: "binding", required: true, maxLength: maxReturned},
			}},

		{Route: Route{http.MethodPost, "/api/v1/oauth/init", "StartOAuth", dashboard, false, 200},
			from: body, input: true, startsFlow: true, fields: []field{
				{name: "provider", variable: "input.provider", required: true, nonEmpty: true, maxLength: maxName},
				{name: "connectorId", variable: "input.connectorId", kind: uid},
				{name: "redirectUrl", variable: "input.redirectUrl", maxLength: maxReturned},
			}},
		{Route: Route{http.MethodGet, "/api/v1/oauth/callback/{provider}", "FinishOAuth", dashboard, true, 200},
			from: query, fields: append(returned[:len(returned):len(returned)], issuer), input: true, nameVariable: "input.provider", optionalSession: true, mayForbid: true, finishesFlow: true, redirect: "data.redirectUrl"},
	}
}
