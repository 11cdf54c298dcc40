// Package oauth connects connectors to accounts at other services by OAuth 2.0:
// the authorization code grant with PKCE, one-time states that survive restarts
// and work over several nodes, and grants whose access tokens are renewed before
// they end, by one worker at a time. Tokens are sealed at rest and shown to
// nobody. The providers are a table in code; the operator gives each its client.
//
// Addresses of providers are the operator's: they are not subject to the ban on
// private networks. No network is waited for inside a transaction.
//
// Allowed imports: ent, internal/secret, pgx, golang.org/x/oauth2 and the leaves.
package oauth
