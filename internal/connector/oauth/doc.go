// Package oauth connects connectors to accounts at other services by OAuth 2.0. It
// implements the authorization code grant with PKCE. States work once, survive
// restarts and can be completed by another node. Access tokens are renewed before
// they expire, by one worker at a time. Tokens are sealed at rest and never
// returned to clients. The providers are a table in code; the operator configures
// a client for each.
//
// The operator configures the addresses of providers, so they may be in private
// networks. No transaction waits for the network.
//
// Allowed imports: ent, internal/secret, internal/store/transaction, pgx,
// golang.org/x/oauth2 and the leaves.
package oauth
