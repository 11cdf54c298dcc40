// Package authorize serves the endpoints of the authorization server in
// internal/identity/application: its metadata, the page on which a person agrees, the
// registration of clients, tokens and their revocation. The page works without
// scripts.
//
// Allowed imports: rs/cors, internal/apierr, ratelimit, internal/identity/authn and
// internal/identity/application.
package authorize
