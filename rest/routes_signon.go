package rest

import (
	"net/http"

	"github.com/magpie-search/magpie/internal/viewer"
)

// maxReturned bounds what a provider sends a browser back with, in characters.
const maxReturned = 4000

// signOnRoutes are sign-in by an OpenID provider and connections by OAuth.
func signOnRoutes() []*route {
	const dashboard = viewer.SurfaceDashboard
	returned := []field{
		{name: "state", variable: "input.state", required: true, longest: maxReturned, about: "What the address that the browser went to had as its state. It works once, for ten minutes."},
		{name: "code", variable: "input.code", longest: maxReturned, about: "What the provider gives the service tokens for."},
		{name: "error", variable: "input.error", longest: maxReturned, about: "Why the provider gives none, such as access_denied."},
		{name: "error_description", variable: "input.errorDescription", longest: maxReturned, about: "The provider's words for it."},
	}
	issuer := field{name: "iss", variable: "input.issuer", longest: maxReturned, about: "The provider, from those that say so (RFC 9207)."}
	return []*route{
		{Route: Route{http.MethodGet, "/api/v1/auth/methods", "SignInMethods", dashboard, true, 200}},
		{Route: Route{http.MethodPost, "/api/v1/auth/oidc/start", "StartOIDCSignIn", dashboard, true, 200},
			from: body, fields: []field{{name: "redirect_url", variable: "redirectUrl", longest: maxReturned,
				about: "Where the browser goes in the end: an address of this service or of one of DASHBOARD_ORIGINS. Without one, the callback answers in JSON."}}},
		{Route: Route{http.MethodGet, "/api/v1/auth/oidc/callback", "AnswerOIDCSignIn", dashboard, true, 200},
			from: query, fields: append(returned[:len(returned):len(returned)], issuer), input: true, refuses: true, redirect: "data.redirect_url"},
		{Route: Route{http.MethodPost, "/api/v1/auth/oidc/finish", "FinishOIDCSignIn", dashboard, true, 200},
			from: body, refuses: true, fields: []field{
				{name: "code", variable: "code", required: true, longest: maxReturned},
				{name: "binding", variable: "binding", required: true, longest: maxReturned},
			}},

		{Route: Route{http.MethodPost, "/api/v1/oauth/init", "StartOAuth", dashboard, false, 200},
			from: body, input: true, binds: true, fields: []field{
				{name: "provider", variable: "input.provider", required: true, filled: true, longest: maxName},
				{name: "connectorId", variable: "input.connectorId", kind: uid},
				{name: "redirectUrl", variable: "input.redirectUrl", longest: maxReturned},
			}},
		{Route: Route{http.MethodGet, "/api/v1/oauth/callback/{provider}", "FinishOAuth", dashboard, true, 200},
			from: query, fields: returned, input: true, named: "input.provider", optional: true, refuses: true, bound: true, redirect: "data.redirectUrl"},
	}
}
