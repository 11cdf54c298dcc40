// Package delivery makes the deliveries of automations: replies by mail, messages in
// Slack, and documents in a collection.
//
// Allowed imports: ent, agents/automation, internal/event/inbox, internal/index,
// internal/ingest, internal/mailer, internal/model/embed and leaves.
package delivery
