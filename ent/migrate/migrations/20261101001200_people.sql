-- +goose Up
-- People: sessions that can be listed and ended, invitations, links that set a password.

-- Refresh tokens of before carry no number: everybody signs in anew.
delete from sessions;
drop index session_previous_hash;
drop index session_refresh_hash;
alter table sessions drop column refresh_hash, drop column previous_hash;
-- The sessions of a person are looked up by the index below.
drop index sessions_user;

-- create index "membership_user_id" to table: "memberships"
CREATE INDEX "membership_user_id" ON "memberships" ("user_id");
-- modify "sessions" table
ALTER TABLE "sessions" ADD COLUMN "generation" bigint NOT NULL DEFAULT 0, ADD COLUMN "rotated_at" timestamptz NULL, ADD COLUMN "user_agent" character varying NOT NULL DEFAULT '', ADD COLUMN "address" character varying NOT NULL DEFAULT '', ADD COLUMN "last_used_at" timestamptz NOT NULL;
-- create index "session_user_id_last_used_at" to table: "sessions"
CREATE INDEX "session_user_id_last_used_at" ON "sessions" ("user_id", "last_used_at");
-- modify "users" table
ALTER TABLE "users" ADD COLUMN "reset_hash" bytea NULL, ADD COLUMN "reset_expires_at" timestamptz NULL, ADD COLUMN "reset_workspace_id" uuid NULL;
-- create index "users_reset_hash_key" to table: "users"
CREATE UNIQUE INDEX "users_reset_hash_key" ON "users" ("reset_hash");
-- create "invitations" table
CREATE TABLE "invitations" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "email" character varying NOT NULL, "role" character varying NOT NULL, "token_hash" bytea NOT NULL, "invited_by" uuid NULL, "sent_at" timestamptz NOT NULL, "expires_at" timestamptz NOT NULL, "accepted_at" timestamptz NULL, "revoked_at" timestamptz NULL, PRIMARY KEY ("id"));
-- create index "invitation_email" to table: "invitations"
CREATE INDEX "invitation_email" ON "invitations" ("email");
-- create index "invitation_workspace_id_created_at" to table: "invitations"
CREATE INDEX "invitation_workspace_id_created_at" ON "invitations" ("workspace_id", "created_at");
-- create index "invitations_token_hash_key" to table: "invitations"
CREATE UNIQUE INDEX "invitations_token_hash_key" ON "invitations" ("token_hash");

alter table invitations add constraint invitations_workspace_fk
    foreign key (workspace_id) references workspaces (id) on delete cascade;
alter table invitations add constraint invitations_inviter_fk
    foreign key (workspace_id, invited_by) references memberships (workspace_id, user_id) on delete set null (invited_by);
-- One invitation at a time is open for an address.
create unique index invitations_one_open on invitations (workspace_id, email) where accepted_at is null and revoked_at is null;
-- The cascade looks invitations up by who made them, and that of memberships the sessions by their seat.
create index invitations_inviter on invitations (workspace_id, invited_by) where invited_by is not null;
create index sessions_seat on sessions (workspace_id, user_id);

-- +goose Down
drop index sessions_seat;
drop table invitations;
drop index users_reset_hash_key;
alter table users drop column reset_workspace_id, drop column reset_expires_at, drop column reset_hash;
delete from sessions;
drop index session_user_id_last_used_at;
alter table sessions drop column last_used_at, drop column address, drop column user_agent, drop column rotated_at, drop column generation;
alter table sessions add column refresh_hash bytea not null, add column previous_hash bytea null;
create index session_previous_hash on sessions (previous_hash);
create unique index session_refresh_hash on sessions (refresh_hash);
create index sessions_user on sessions (user_id);
drop index membership_user_id;
