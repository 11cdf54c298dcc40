-- +goose Up
-- Grants of other services, connections and sign-ins on their way, and the identities that people sign in with.
-- create "oauth_grants" table
CREATE TABLE "oauth_grants" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "provider" character varying NOT NULL, "person_id" uuid NULL, "account" character varying NULL, "scopes" jsonb NOT NULL, "status" character varying NOT NULL DEFAULT 'ACTIVE', "tokens" bytea NOT NULL, "expires_at" timestamptz NULL, "refreshed_at" timestamptz NULL, "last_error" character varying NULL, "generation" bigint NOT NULL DEFAULT 1, "lease_id" uuid NULL, "lease_until" timestamptz NULL, PRIMARY KEY ("id"));
-- create index "oauthgrant_workspace_id_created_at" to table: "oauth_grants"
CREATE INDEX "oauthgrant_workspace_id_created_at" ON "oauth_grants" ("workspace_id", "created_at");
-- modify "connectors" table
ALTER TABLE "connectors" ADD COLUMN "grant_id" uuid NULL, ADD CONSTRAINT "connectors_oauth_grants_connectors" FOREIGN KEY ("grant_id") REFERENCES "oauth_grants" ("id") ON UPDATE NO ACTION ON DELETE SET NULL;

-- A row may only point at rows of its own workspace. A grant stays when whoever gave it leaves.
alter table oauth_grants add constraint oauth_grants_workspace_key unique (workspace_id, id);
alter table oauth_grants add constraint oauth_grants_workspace_fk
    foreign key (workspace_id) references workspaces (id) on delete cascade;
alter table oauth_grants add constraint oauth_grants_person_fk
    foreign key (workspace_id, person_id) references memberships (workspace_id, user_id) on delete set null (person_id);
alter table connectors add constraint connectors_grant_fk
    foreign key (workspace_id, grant_id) references oauth_grants (workspace_id, id) on delete set null (grant_id);

-- The cascades look rows up by these columns.
create index oauth_grants_person on oauth_grants (person_id) where person_id is not null;
create index connectors_grant on connectors (grant_id) where grant_id is not null;

-- What was begun in one request and ends in another one, once: known by a hash of its token, its content sealed.
create table oauth_flows (
    token_hash bytea primary key check (length(token_hash) = 32),
    purpose text not null,
    content bytea not null,
    expires_at timestamptz not null
);
create index oauth_flows_expires_at on oauth_flows (expires_at);

-- Who somebody is at an OpenID provider.
create table identities (
    issuer text not null check (length(issuer) between 1 and 2000),
    subject text not null check (length(subject) between 1 and 255),
    user_id uuid not null references users (id) on delete cascade,
    created_at timestamptz not null default now(),
    used_at timestamptz not null default now(),
    primary key (issuer, subject),
    -- An address that the provider gives to somebody else later must not lead to the account of the one before.
    constraint identities_one_of_each_issuer unique (user_id, issuer)
);
