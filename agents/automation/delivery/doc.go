// Package delivery makes the deliveries of automations: replies by mail, messages in
// Slack, and documents in a collection.
//
// Allowed imports: agents/automation, agents/slackapi, connectors, ent, internal/index,
// internal/ingest, internal/mailer, internal/model/embed and leaves.
package delivery
