-- +goose Up
-- Integrations with the tools that agents call, the credentials for them, and the tools.
-- A grant of OAuth may belong to one person.
alter table "oauth_grants" add column "owner_id" uuid NULL;
alter table oauth_grants add constraint oauth_grants_owner_fk
    foreign key (workspace_id, owner_id) references memberships (workspace_id, user_id) on delete cascade;
create index oauth_grants_owner on oauth_grants (owner_id) where owner_id is not null;

CREATE TABLE "tool_integrations" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "kind" character varying NOT NULL, "provider" character varying NOT NULL, "name" character varying NOT NULL, "slug" character varying NOT NULL, "owner_scope" character varying NOT NULL, "person_id" uuid NULL, "credentials_of" character varying NOT NULL DEFAULT 'PERSON', "enabled" boolean NOT NULL DEFAULT true, "config" jsonb NOT NULL, "discovered_at" timestamptz NULL, "schema_hash" character varying NOT NULL DEFAULT '', "last_error" character varying NULL, PRIMARY KEY ("id"));
CREATE INDEX "toolintegration_workspace_id_created_at" ON "tool_integrations" ("workspace_id", "created_at");

CREATE TABLE "integration_tools" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "person_id" uuid NULL, "name" character varying NOT NULL, "title" character varying NOT NULL DEFAULT '', "description" text NOT NULL DEFAULT '', "input_schema" jsonb NOT NULL, "output_schema" jsonb NULL, "definition" jsonb NULL, "risk" character varying NOT NULL, "call_policy" character varying NULL, "argument_rules" jsonb NOT NULL, "timeout" bigint NOT NULL DEFAULT 30, "enabled" boolean NOT NULL DEFAULT true, "pinned_hash" character varying NOT NULL, "drift" jsonb NULL, "integration_id" uuid NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "integration_tools_tool_integrations_tools" FOREIGN KEY ("integration_id") REFERENCES "tool_integrations" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
CREATE UNIQUE INDEX "integrationtool_integration_id_name" ON "integration_tools" ("integration_id", "name");

CREATE TABLE "tool_connections" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "person_id" uuid NULL, "credentials" bytea NULL, "grant_id" uuid NULL, "status" character varying NOT NULL DEFAULT 'ACTIVE', "last_checked_at" timestamptz NULL, "last_error" character varying NULL, "integration_id" uuid NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "tool_connections_tool_integrations_connections" FOREIGN KEY ("integration_id") REFERENCES "tool_integrations" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
CREATE UNIQUE INDEX "toolconnection_integration_id_person_id" ON "tool_connections" ("integration_id", "person_id");

-- A row may only point at rows of its own workspace. What is a person's ends with the membership.
alter table tool_integrations add constraint tool_integrations_workspace_key unique (workspace_id, id);
alter table tool_integrations add constraint tool_integrations_workspace_fk
    foreign key (workspace_id) references workspaces (id) on delete cascade;
alter table tool_integrations add constraint tool_integrations_person_fk
    foreign key (workspace_id, person_id) references memberships (workspace_id, user_id) on delete cascade;
alter table tool_integrations add constraint tool_integrations_scope check ((owner_scope = 'PERSONAL') = (person_id is not null));
alter table integration_tools add constraint integration_tools_integration_fk
    foreign key (workspace_id, integration_id) references tool_integrations (workspace_id, id) on delete cascade;
alter table tool_connections add constraint tool_connections_integration_fk
    foreign key (workspace_id, integration_id) references tool_integrations (workspace_id, id) on delete cascade;
alter table tool_connections add constraint tool_connections_person_fk
    foreign key (workspace_id, person_id) references memberships (workspace_id, user_id) on delete cascade;
alter table tool_connections add constraint tool_connections_grant_fk
    foreign key (workspace_id, grant_id) references oauth_grants (workspace_id, id) on delete set null (grant_id);

-- Names of tools lead to one integration; shared credentials exist once.
create unique index tool_integrations_slug on tool_integrations (workspace_id, slug) where person_id is null;
create unique index tool_integrations_own_slug on tool_integrations (workspace_id, person_id, slug) where person_id is not null;
create unique index tool_connections_shared on tool_connections (integration_id) where person_id is null;
create index tool_integrations_person on tool_integrations (person_id) where person_id is not null;
create index tool_connections_person on tool_connections (person_id) where person_id is not null;
create index tool_connections_grant on tool_connections (grant_id) where grant_id is not null;
