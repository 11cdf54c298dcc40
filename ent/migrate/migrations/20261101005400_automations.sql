-- +goose Up
-- Automations, and what they did with each event.
-- create "automations" table
CREATE TABLE "automations" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "name" character varying NOT NULL, "description" text NULL, "enabled" boolean NOT NULL DEFAULT true, "agent_id" uuid NOT NULL, "owner_id" uuid NOT NULL, "run_as" character varying NOT NULL DEFAULT 'OWNER', "instructions" text NOT NULL, "kind" character varying NOT NULL, "trigger" jsonb NOT NULL, "integration_id" uuid NULL, "conditions" jsonb NOT NULL, "approval" jsonb NOT NULL, "delivery" jsonb NOT NULL, "limits" jsonb NOT NULL, "dedupe_key" character varying NOT NULL DEFAULT '', "failure_count" bigint NOT NULL DEFAULT 0, "disabled_reason" character varying NULL, "next_run_at" timestamptz NULL, "last_run_at" timestamptz NULL, "cursors" jsonb NOT NULL, "checked_at" timestamptz NULL, PRIMARY KEY ("id"));
-- create index "automation_workspace_id_created_at" to table: "automations"
CREATE INDEX "automation_workspace_id_created_at" ON "automations" ("workspace_id", "created_at");
-- create index "automation_workspace_id_kind" to table: "automations"
CREATE INDEX "automation_workspace_id_kind" ON "automations" ("workspace_id", "kind") WHERE (enabled);
-- create index "automation_next_run_at" to table: "automations"
CREATE INDEX "automation_next_run_at" ON "automations" ("next_run_at") WHERE (next_run_at is not null);
-- create "automation_runs" table
CREATE TABLE "automation_runs" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "automation_id" uuid NOT NULL, "dedupe_key" character varying NOT NULL, "event_id" uuid NULL, "title" character varying NOT NULL DEFAULT '', "sender" character varying NOT NULL DEFAULT '', "event" bytea NULL, "subject_id" uuid NULL, "private" boolean NOT NULL DEFAULT false, "conversation_id" uuid NULL, "agent_run_id" uuid NULL, "status" character varying NOT NULL DEFAULT 'QUEUED', "step" character varying NOT NULL DEFAULT 'START', "reason" character varying NULL, "error_class" character varying NULL, "answer" text NOT NULL DEFAULT '', "deliveries" jsonb NOT NULL, "tokens" bigint NOT NULL DEFAULT 0, "replay_of" uuid NULL, "retries" bigint NOT NULL DEFAULT 0, "attempts" bigint NOT NULL DEFAULT 0, "due_at" timestamptz NULL, "started_at" timestamptz NULL, "waiting_since" timestamptz NULL, "finished_at" timestamptz NULL, PRIMARY KEY ("id"));
-- create index "automationrun_automation_id_dedupe_key" to table: "automation_runs"
CREATE UNIQUE INDEX "automationrun_automation_id_dedupe_key" ON "automation_runs" ("automation_id", "dedupe_key");
-- create index "automationrun_automation_id_created_at" to table: "automation_runs"
CREATE INDEX "automationrun_automation_id_created_at" ON "automation_runs" ("automation_id", "created_at");
-- create index "automationrun_workspace_id_created_at" to table: "automation_runs"
CREATE INDEX "automationrun_workspace_id_created_at" ON "automation_runs" ("workspace_id", "created_at");
-- create index "automationrun_agent_run_id" to table: "automation_runs"
CREATE INDEX "automationrun_agent_run_id" ON "automation_runs" ("agent_run_id") WHERE (due_at is not null);
-- create index "automationrun_due_at" to table: "automation_runs"
CREATE INDEX "automationrun_due_at" ON "automation_runs" ("due_at") WHERE (due_at is not null);

-- A row may only point at rows of its own workspace. An automation ends with its agent, runs with their automation.
alter table automations add constraint automations_workspace_key unique (workspace_id, id);
alter table automations add constraint automations_workspace_fk
    foreign key (workspace_id) references workspaces (id) on delete cascade;
alter table automations add constraint automations_agent_fk
    foreign key (workspace_id, agent_id) references agents (workspace_id, id) on delete cascade;
alter table automations add constraint automations_owner_fk
    foreign key (owner_id) references users (id) on delete cascade;
alter table automation_runs add constraint automation_runs_automation_fk
    foreign key (workspace_id, automation_id) references automations (workspace_id, id) on delete cascade;

-- The runs of the last hour are counted under a lock; skipped ones do not count and may be many.
create index automation_runs_counted on automation_runs (automation_id, created_at) where status <> 'SKIPPED';
-- Events have a retention.
create index automation_runs_events on automation_runs (created_at) where event is not null;
alter table automation_runs alter column event set storage external; -- sealed bytes do not compress
-- Who decides about the calls of an agent run is looked up by its conversation.
create index automation_runs_conversations on automation_runs (conversation_id) where conversation_id is not null;
