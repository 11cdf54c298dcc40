-- +goose Up
-- Personal and service tokens, and the token of an audit entry.

-- modify "audit_entries" table
ALTER TABLE "audit_entries" ADD COLUMN "token_id" uuid NULL, ADD COLUMN "token_name" character varying NOT NULL DEFAULT '';
-- create "tokens" table
CREATE TABLE "tokens" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "name" character varying NOT NULL, "user_id" uuid NULL, "created_by" uuid NULL, "hash" bytea NOT NULL, "hint" character varying NOT NULL, "role" character varying NULL, "groups" jsonb NULL, "expires_at" timestamptz NULL, "revoked_at" timestamptz NULL, "last_used_at" timestamptz NULL, "last_address" character varying NOT NULL DEFAULT '', PRIMARY KEY ("id"));
-- create index "token_workspace_id_created_at" to table: "tokens"
CREATE INDEX "token_workspace_id_created_at" ON "tokens" ("workspace_id", "created_at");
-- create index "token_workspace_id_user_id" to table: "tokens"
CREATE INDEX "token_workspace_id_user_id" ON "tokens" ("workspace_id", "user_id");
-- create index "tokens_hash_key" to table: "tokens"
CREATE UNIQUE INDEX "tokens_hash_key" ON "tokens" ("hash");

alter table tokens add constraint tokens_workspace_fk
    foreign key (workspace_id) references workspaces (id) on delete cascade;
-- A personal token ends with the membership of its person.
alter table tokens add constraint tokens_member_fk
    foreign key (workspace_id, user_id) references memberships (workspace_id, user_id) on delete cascade;
alter table tokens add constraint tokens_maker_fk
    foreign key (workspace_id, created_by) references memberships (workspace_id, user_id) on delete set null (created_by);
create index tokens_maker on tokens (workspace_id, created_by) where created_by is not null;
-- Whoever is no person needs a role and groups.
alter table tokens add constraint tokens_service_check
    check (user_id is not null or role is not null and groups is not null and role <> 'OWNER');

-- +goose Down
drop table tokens;
alter table audit_entries drop column token_name, drop column token_id;
