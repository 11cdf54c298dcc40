-- +goose Up
-- Agents, their templates, memories and runs.
-- create "agents" table
CREATE TABLE "agents" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "name" character varying NOT NULL, "description" character varying NULL, "system_prompt" character varying NOT NULL, "tools" jsonb NOT NULL, "collections" jsonb NOT NULL, "start_message" character varying NULL, "model" character varying NULL, PRIMARY KEY ("id"));
-- create index "agent_workspace_id_created_at" to table: "agents"
CREATE INDEX "agent_workspace_id_created_at" ON "agents" ("workspace_id", "created_at");
-- create "agent_templates" table
CREATE TABLE "agent_templates" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "name" character varying NOT NULL, "description" character varying NOT NULL DEFAULT '', "category" character varying NOT NULL DEFAULT 'custom', "system_prompt" character varying NOT NULL, "tools" jsonb NOT NULL, "start_message" character varying NULL, PRIMARY KEY ("id"));
-- create index "agenttemplate_workspace_id_created_at" to table: "agent_templates"
CREATE INDEX "agenttemplate_workspace_id_created_at" ON "agent_templates" ("workspace_id", "created_at");
-- modify "messages" table
ALTER TABLE "messages" ADD COLUMN "run_id" uuid NULL;
-- create "agent_memories" table
CREATE TABLE "agent_memories" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "person_id" uuid NULL, "kind" character varying NOT NULL DEFAULT 'FACT', "content" character varying NOT NULL, "importance" double precision NOT NULL DEFAULT 0.5, "run_id" uuid NULL, "recalled_at" timestamptz NULL, "embedding" bytea NULL, "embedding_model" character varying NOT NULL DEFAULT '', "agent_id" uuid NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "agent_memories_agents_memories" FOREIGN KEY ("agent_id") REFERENCES "agents" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "agentmemory_agent_id_created_at" to table: "agent_memories"
CREATE INDEX "agentmemory_agent_id_created_at" ON "agent_memories" ("agent_id", "created_at");
-- create "agent_runs" table
CREATE TABLE "agent_runs" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "subject_id" uuid NOT NULL, "conversation_id" uuid NOT NULL, "status" character varying NOT NULL DEFAULT 'RUNNING', "message" text NOT NULL, "answer" text NOT NULL DEFAULT '', "model" character varying NOT NULL DEFAULT '', "iterations" bigint NOT NULL DEFAULT 0, "tool_calls" bigint NOT NULL DEFAULT 0, "prompt_tokens" bigint NOT NULL DEFAULT 0, "completion_tokens" bigint NOT NULL DEFAULT 0, "error" character varying NULL, "heartbeat_at" timestamptz NOT NULL, "finished_at" timestamptz NULL, "agent_id" uuid NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "agent_runs_agents_runs" FOREIGN KEY ("agent_id") REFERENCES "agents" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "agentrun_agent_id_subject_id_created_at" to table: "agent_runs"
CREATE INDEX "agentrun_agent_id_subject_id_created_at" ON "agent_runs" ("agent_id", "subject_id", "created_at");
-- create index "agentrun_conversation_id_created_at" to table: "agent_runs"
CREATE INDEX "agentrun_conversation_id_created_at" ON "agent_runs" ("conversation_id", "created_at");
-- modify "conversations" table
ALTER TABLE "conversations" ADD COLUMN "agent_id" uuid NULL, ADD CONSTRAINT "conversations_agents_conversations" FOREIGN KEY ("agent_id") REFERENCES "agents" ("id") ON UPDATE NO ACTION ON DELETE CASCADE;

-- A row may only point at rows of its own workspace.
alter table agents add constraint agents_workspace_key unique (workspace_id, id);
alter table agents add constraint agents_workspace_fk
    foreign key (workspace_id) references workspaces (id) on delete cascade;
alter table agent_templates add constraint agent_templates_workspace_fk
    foreign key (workspace_id) references workspaces (id) on delete cascade;
alter table agent_memories add constraint agent_memories_tenant_fk
    foreign key (workspace_id, agent_id) references agents (workspace_id, id) on delete cascade;
alter table agent_memories add constraint agent_memories_person_fk
    foreign key (workspace_id, person_id) references memberships (workspace_id, user_id) on delete cascade;
alter table agent_runs add constraint agent_runs_workspace_key unique (workspace_id, id);
alter table agent_runs add constraint agent_runs_tenant_fk
    foreign key (workspace_id, agent_id) references agents (workspace_id, id) on delete cascade;
alter table agent_runs add constraint agent_runs_subject_fk
    foreign key (workspace_id, subject_id) references memberships (workspace_id, user_id) on delete cascade;
alter table agent_runs add constraint agent_runs_conversation_fk
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade;
alter table conversations add constraint conversations_agent_fk
    foreign key (workspace_id, agent_id) references agents (workspace_id, id) on delete cascade;

-- The cascades look rows up by these columns; what is still running is looked up by its heartbeat.
create index agent_memories_person on agent_memories (person_id) where person_id is not null;
create index conversations_agent on conversations (agent_id) where agent_id is not null;
create index agent_runs_open_heartbeat on agent_runs (heartbeat_at) where status = 'RUNNING';

-- What a run told, in order, so that a reader who comes late or again misses nothing.
create table agent_run_events (
    workspace_id uuid not null,
    run_id uuid not null,
    seq bigint not null check (seq > 0),
    type text not null,
    data jsonb not null,
    created_at timestamptz not null default now(),
    primary key (run_id, seq),
    constraint agent_run_events_tenant_fk
        foreign key (workspace_id, run_id) references agent_runs (workspace_id, id) on delete cascade
);
