-- +goose Up
-- Decisions of people about calls of agents, what they allow for longer, and the policies of tools.
-- create "approvals" table
CREATE TABLE "approvals" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "run_id" uuid NOT NULL, "agent_id" uuid NOT NULL, "subject_id" uuid NOT NULL, "call_id" character varying NOT NULL, "tool" character varying NOT NULL, "tool_title" character varying NOT NULL DEFAULT '', "integration_id" uuid NULL, "kind" character varying NOT NULL DEFAULT 'CONSENT', "risk" character varying NOT NULL, "title" character varying NOT NULL, "preview" text NOT NULL DEFAULT '', "reason" text NOT NULL DEFAULT '', "arguments" text NOT NULL, "arguments_hash" character varying NOT NULL, "configuration_hash" character varying NOT NULL DEFAULT '', "options" jsonb NOT NULL, "status" character varying NOT NULL DEFAULT 'PENDING', "comment" character varying NULL, "edited_arguments" text NULL, "answer" character varying NULL, "requested_at" timestamptz NOT NULL, "expires_at" timestamptz NOT NULL, "decided_at" timestamptz NULL, "decided_by" uuid NULL, "decided_via" character varying NULL, "approver_role" character varying NULL, "approver_ids" jsonb NOT NULL, "self_approval" boolean NOT NULL DEFAULT true, "slack_integration_id" uuid NULL, "slack_channel" character varying NULL, "slack_ts" character varying NULL, "slack_error" character varying NULL, "slack_attempts" bigint NOT NULL DEFAULT 0, "slack_due_at" timestamptz NULL, "notified_at" timestamptz NULL, "nonce" character varying NOT NULL, PRIMARY KEY ("id"));
-- create index "approval_run_id_call_id_kind" to table: "approvals"
CREATE UNIQUE INDEX "approval_run_id_call_id_kind" ON "approvals" ("run_id", "call_id", "kind");
-- create index "approval_workspace_id_created_at" to table: "approvals"
CREATE INDEX "approval_workspace_id_created_at" ON "approvals" ("workspace_id", "created_at");
-- create index "approval_workspace_id_updated_at" to table: "approvals"
CREATE INDEX "approval_workspace_id_updated_at" ON "approvals" ("workspace_id", "updated_at");
-- create index "approval_expires_at" to table: "approvals"
CREATE INDEX "approval_expires_at" ON "approvals" ("expires_at") WHERE (status = 'PENDING');
-- create index "approval_slack_due_at" to table: "approvals"
CREATE INDEX "approval_slack_due_at" ON "approvals" ("slack_due_at") WHERE (slack_due_at is not null);
-- create "tool_grants" table
CREATE TABLE "tool_grants" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "agent_id" uuid NOT NULL, "tool" character varying NOT NULL, "scope" character varying NOT NULL, "run_id" uuid NULL, "conversation_id" uuid NULL, "person_id" uuid NULL, "approval_id" uuid NULL, "created_by" uuid NOT NULL, "revoked_at" timestamptz NULL, "revoked_by" uuid NULL, PRIMARY KEY ("id"));
-- create index "toolgrant_agent_id_tool" to table: "tool_grants"
CREATE INDEX "toolgrant_agent_id_tool" ON "tool_grants" ("agent_id", "tool") WHERE (revoked_at is null);
-- create index "toolgrant_workspace_id_created_at" to table: "tool_grants"
CREATE INDEX "toolgrant_workspace_id_created_at" ON "tool_grants" ("workspace_id", "created_at");
-- modify "agents" table
ALTER TABLE "agents" ADD COLUMN "tool_policy" jsonb NOT NULL DEFAULT '{}';
-- modify "workspaces" table
ALTER TABLE "workspaces" ADD COLUMN "tool_policy" jsonb NOT NULL DEFAULT '{}', ADD COLUMN "approval_integration_id" uuid NULL, ADD COLUMN "approval_channel" character varying NULL;

-- A row may only point at rows of its own workspace. Approvals end with their run, grants with what they are for.
alter table approvals add constraint approvals_run_fk
    foreign key (workspace_id, run_id) references agent_runs (workspace_id, id) on delete cascade;
alter table approvals add constraint approvals_agent_fk
    foreign key (workspace_id, agent_id) references agents (workspace_id, id) on delete cascade;
alter table approvals add constraint approvals_subject_fk
    foreign key (workspace_id, subject_id) references memberships (workspace_id, user_id) on delete cascade;
alter table approvals add constraint approvals_slack_fk
    foreign key (workspace_id, slack_integration_id) references inbound_integrations (workspace_id, id) on delete set null (slack_integration_id);
alter table tool_grants add constraint tool_grants_agent_fk
    foreign key (workspace_id, agent_id) references agents (workspace_id, id) on delete cascade;
alter table tool_grants add constraint tool_grants_run_fk
    foreign key (workspace_id, run_id) references agent_runs (workspace_id, id) on delete cascade;
alter table tool_grants add constraint tool_grants_conversation_fk
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade;
alter table tool_grants add constraint tool_grants_person_fk
    foreign key (workspace_id, person_id) references memberships (workspace_id, user_id) on delete cascade;
alter table workspaces add constraint workspaces_approval_fk
    foreign key (id, approval_integration_id) references inbound_integrations (workspace_id, id) on delete set null (approval_integration_id);

-- A grant is for exactly what its scope says.
alter table tool_grants add constraint tool_grants_scope_check check (
    (scope = 'RUN') = (run_id is not null) and (scope = 'CONVERSATION') = (conversation_id is not null) and (scope = 'AGENT') = (person_id is null));
