-- +goose Up
-- Plans of syncs, deletions in quarantine, restored documents, the freshness of connectors and the effort of jobs.
-- modify "sync_items" table
ALTER TABLE "sync_items" ADD COLUMN "hold" character varying NULL, ADD COLUMN "waiting_since" timestamptz NULL;
-- create index "syncitem_connector_id_hold" to table: "sync_items"
CREATE INDEX "syncitem_connector_id_hold" ON "sync_items" ("connector_id", "hold") WHERE (hold IS NOT NULL);
-- create index "syncitem_connector_id_waiting_since" to table: "sync_items"
CREATE INDEX "syncitem_connector_id_waiting_since" ON "sync_items" ("connector_id", "waiting_since") WHERE (waiting_since IS NOT NULL);
-- modify "sync_jobs" table
ALTER TABLE "sync_jobs" ADD COLUMN "planned_mode" character varying NULL, ADD COLUMN "target_job_id" uuid NULL, ADD COLUMN "pages" bigint NOT NULL DEFAULT 0, ADD COLUMN "bytes_fetched" bigint NOT NULL DEFAULT 0, ADD COLUMN "retried" bigint NOT NULL DEFAULT 0;
-- create "plan_items" table
CREATE TABLE "plan_items" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "job_id" uuid NOT NULL, "document_id" uuid NULL, "source_id" character varying NOT NULL, "path" character varying NOT NULL, "action" character varying NOT NULL, "reason" character varying NULL, "size" bigint NOT NULL DEFAULT 0, "version" character varying NOT NULL DEFAULT '', "connector_id" uuid NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "plan_items_connectors_planned" FOREIGN KEY ("connector_id") REFERENCES "connectors" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "planitem_connector_id" to table: "plan_items"
CREATE INDEX "planitem_connector_id" ON "plan_items" ("connector_id");
-- create index "planitem_job_id_action_path" to table: "plan_items"
CREATE INDEX "planitem_job_id_action_path" ON "plan_items" ("job_id", "action", "path");
-- create index "planitem_job_id_source_id" to table: "plan_items"
CREATE UNIQUE INDEX "planitem_job_id_source_id" ON "plan_items" ("job_id", "source_id");


-- A row may only point at rows of its own workspace. The items of a plan go with it.
alter table sync_jobs add constraint sync_jobs_workspace_key unique (workspace_id, id);
alter table plan_items add constraint plan_items_tenant_fk
    foreign key (workspace_id, connector_id) references connectors (workspace_id, id) on delete cascade;
alter table plan_items add constraint plan_items_job_fk
    foreign key (workspace_id, job_id) references sync_jobs (workspace_id, id) on delete cascade;

-- What a sync found of a deletion that waits for a decision; which documents it is about is in the ledger.
create table quarantines (
    workspace_id uuid not null,
    connector_id uuid primary key,
    job_id uuid not null,
    since timestamptz not null,
    existing bigint not null check (existing >= 0),
    threshold integer not null check (threshold between 1 and 50),
    constraint quarantines_tenant_fk
        foreign key (workspace_id, connector_id) references connectors (workspace_id, id) on delete cascade
);

-- What the deletion guard said of a plan.
create table plan_guards (
    workspace_id uuid not null,
    job_id uuid primary key,
    blocked boolean not null,
    missing bigint not null,
    existing bigint not null,
    threshold integer not null,
    constraint plan_guards_job_fk
        foreign key (workspace_id, job_id) references sync_jobs (workspace_id, id) on delete cascade
);

-- How long changes took from the source into search: a count for each hour and class of lags, whose upper bound is
-- 2^(class/4) seconds.
create table freshness (
    workspace_id uuid not null,
    connector_id uuid not null,
    hour timestamptz not null,
    class smallint not null check (class between 0 and 127),
    changes bigint not null check (changes > 0),
    longest double precision not null check (longest >= 0),
    primary key (connector_id, hour, class),
    constraint freshness_tenant_fk
        foreign key (workspace_id, connector_id) references connectors (workspace_id, id) on delete cascade
);

-- Old plans, old jobs and documents that were deleted long ago are swept.
create index sync_jobs_plans on sync_jobs (connector_id, created_at) where mode = 'PLAN';
create index sync_jobs_ended on sync_jobs (finished_at) where finished_at is not null;
create index freshness_hour on freshness (hour);
create index documents_deleted_at on documents (deleted_at) where deleted_at is not null;
