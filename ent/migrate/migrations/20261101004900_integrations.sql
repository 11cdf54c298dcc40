-- +goose Up
-- Integrations that receive mails, events and meetings, and what they received.
-- create "inbound_integrations" table
CREATE TABLE "inbound_integrations" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "kind" character varying NOT NULL, "provider" character varying NOT NULL, "name" character varying NOT NULL, "enabled" boolean NOT NULL DEFAULT true, "config" jsonb NOT NULL, "credentials" bytea NULL, "previous_credentials" bytea NULL, "previous_until" timestamptz NULL, "token" character varying NOT NULL, "routing_keys" jsonb NOT NULL, "status" character varying NOT NULL DEFAULT 'UNVERIFIED', "last_event_at" timestamptz NULL, "last_error" character varying NULL, "rejected" bigint NOT NULL DEFAULT 0, PRIMARY KEY ("id"));
-- create index "inbound_integrations_token_key" to table: "inbound_integrations"
CREATE UNIQUE INDEX "inbound_integrations_token_key" ON "inbound_integrations" ("token");
-- create index "inboundintegration_workspace_id_created_at" to table: "inbound_integrations"
CREATE INDEX "inboundintegration_workspace_id_created_at" ON "inbound_integrations" ("workspace_id", "created_at");
-- create "integration_events" table
CREATE TABLE "integration_events" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "integration_id" uuid NOT NULL, "provider_event_id" character varying NOT NULL, "type" character varying NOT NULL, "received_at" timestamptz NOT NULL, "occurred_at" timestamptz NULL, "summary" character varying NOT NULL DEFAULT '', "size" bigint NOT NULL DEFAULT 0, "payload" bytea NULL, "status" character varying NOT NULL DEFAULT 'RECEIVED', "reason" character varying NULL, "automation_ids" jsonb NOT NULL, "document_id" uuid NULL, "attempts" bigint NOT NULL DEFAULT 0, "due_at" timestamptz NULL, "processed_at" timestamptz NULL, PRIMARY KEY ("id"));
-- create index "inboundevent_integration_id_provider_event_id" to table: "integration_events"
CREATE UNIQUE INDEX "inboundevent_integration_id_provider_event_id" ON "integration_events" ("integration_id", "provider_event_id");
-- create index "inboundevent_workspace_id_received_at" to table: "integration_events"
CREATE INDEX "inboundevent_workspace_id_received_at" ON "integration_events" ("workspace_id", "received_at");
-- create index "inboundevent_integration_id_received_at" to table: "integration_events"
CREATE INDEX "inboundevent_integration_id_received_at" ON "integration_events" ("integration_id", "received_at");
-- create index "inboundevent_due_at" to table: "integration_events"
CREATE INDEX "inboundevent_due_at" ON "integration_events" ("due_at") WHERE (due_at is not null);

-- A row may only point at rows of its own workspace. Events end with their integration.
alter table inbound_integrations add constraint inbound_integrations_workspace_key unique (workspace_id, id);
alter table inbound_integrations add constraint inbound_integrations_workspace_fk
    foreign key (workspace_id) references workspaces (id) on delete cascade;
alter table integration_events add constraint integration_events_integration_fk
    foreign key (workspace_id, integration_id) references inbound_integrations (workspace_id, id) on delete cascade;

-- Deliveries without an id look an integration up by its provider and one of its keys.
create index inbound_integrations_keys on inbound_integrations using gin (routing_keys);
-- Payloads have a retention.
create index integration_events_payloads on integration_events (received_at) where payload is not null;
alter table integration_events alter column payload set storage external; -- sealed bytes do not compress
