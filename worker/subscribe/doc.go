// Package subscribe keeps webhook subscriptions at platforms: it creates one where
// a connector wants it, renews it before it expires, repairs it after changes, and
// ends it when the connector no longer wants it.
//
// Allowed imports: ent, connectors, pgx, internal/connector/credential,
// internal/secret, internal/viewer.
package subscribe
