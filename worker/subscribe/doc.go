// Package subscribe keeps the subscriptions that platforms send webhooks for: it
// asks for one where a connector wants it, renews it before it ends, repairs
// what somebody broke, and ends it where it is not wanted any more.
//
// Allowed imports: ent, connectors, pgx, internal/{secret, viewer, inbound}.
package subscribe
