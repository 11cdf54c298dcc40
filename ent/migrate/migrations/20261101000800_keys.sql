-- +goose Up
-- Keys are rotated with an overlap, and secret keys that were seen in a browser
-- are flagged.
ALTER TABLE "api_keys" ADD COLUMN "previous_publishable_hash" bytea NULL, ADD COLUMN "previous_secret_hash" bytea NULL,
    ADD COLUMN "rotated_at" timestamptz NULL, ADD COLUMN "previous_expires_at" timestamptz NULL,
    ADD COLUMN "leaked_at" timestamptz NULL, ADD COLUMN "leaked_origin" character varying NULL;
CREATE UNIQUE INDEX "api_keys_previous_publishable_hash_key" ON "api_keys" ("previous_publishable_hash");
CREATE UNIQUE INDEX "api_keys_previous_secret_hash_key" ON "api_keys" ("previous_secret_hash");

-- Queries a month and what a workspace may make of them.
ALTER TABLE "workspaces" ADD COLUMN "query_limit" bigint NULL;

-- Counted queries. Rows change with every request of a workspace that has a
-- limit: half of each page is left for their new versions.
create table usage_counters (
    workspace_id uuid not null references workspaces (id) on delete cascade,
    month        date not null check (extract(day from month) = 1), -- the first day, in UTC
    queries      bigint not null check (queries >= 0),
    primary key (workspace_id, month)
)
with (fillfactor = 50);
alter table usage_counters enable row level security;
alter table usage_counters force row level security;
create policy usage_counters_tenant on usage_counters
    using (workspace_id = nullif(current_setting('magpie.workspace', true), '')::uuid)
    with check (workspace_id = nullif(current_setting('magpie.workspace', true), '')::uuid);
revoke all on usage_counters from magpie_app;
grant select, insert, update on usage_counters to magpie_app;
