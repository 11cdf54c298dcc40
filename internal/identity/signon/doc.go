// Package signon signs people in by a provider: OpenID Connect (the authorization code
// flow with PKCE, state and nonce) or SAML 2.0 (responses to signed or unsigned requests
// of this service), each bound to the browser that started it. It verifies the
// identity and finds the person; internal/identity/authn opens the session. The
// operator configures the providers, which may be unreachable when a process starts.
//
// Allowed imports: ent, internal/identity/authn, internal/connector/oauth (flows),
// internal/store/transaction, go-oidc, golang.org/x/oauth2, crewjam/saml, goxmldsig,
// pgx and the leaves.
package signon
