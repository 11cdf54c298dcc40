// Package signon signs people in by an OpenID provider: the authorization code
// flow with PKCE, state and nonce, bound to the browser that began. It checks
// what the provider says of somebody and finds the person it means; sessions are
// internal/identity/authn's. The provider is the operator's address and need not be
// reachable when a process starts.
//
// Allowed imports: ent, internal/identity/authn, internal/connector/oauth (its flows),
// internal/store/transaction, go-oidc, golang.org/x/oauth2, pgx and the leaves.
package signon
