// Package signon signs people in by an OpenID provider: the authorization code flow
// with PKCE, state and nonce, bound to the browser that started it. It verifies the
// identity and finds the person; internal/identity/authn opens the session. The
// operator configures the provider, which may be unreachable when a process starts.
//
// Allowed imports: ent, internal/identity/authn, internal/connector/oauth (flows),
// internal/store/transaction, go-oidc, golang.org/x/oauth2, pgx and the leaves.
package signon
