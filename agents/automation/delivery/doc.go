// Package delivery makes the deliveries of automations: replies by mail, messages in
// Slack, comments on the objects of events, and documents in a collection.
//
// Allowed imports: agents/automation, agents/integration, agents/loop, agents/policy,
// agents/slackapi, connectors, ent, internal/event/email, internal/index, internal/ingest,
// internal/mailer, internal/model/embed and leaves.
package delivery
