// Package inbox keeps the inbound integrations of workspaces and receives what their
// platforms send. A request is verified on its raw bytes, stored once, and answered;
// a worker does everything else. The table inbound_events belongs to the webhooks of
// connectors (internal/connector/inbound); the events of integrations are in
// integration_events.
//
// Allowed imports: ent, connectors, pgx, internal/{apierr, audit, event, index, ingest,
// patch, queue, secret, store, viewer}.
package inbox
