-- +goose Up
-- drop index "sync_jobs_one_open" from table: "sync_jobs"
DROP INDEX "sync_jobs_one_open";
-- drop index "sync_jobs_open_heartbeat" from table: "sync_jobs"
DROP INDEX "sync_jobs_open_heartbeat";
-- create index "sync_jobs_one_open" to table: "sync_jobs"
CREATE UNIQUE INDEX "sync_jobs_one_open" ON "sync_jobs" ("connector_id") WHERE ((status)::text = ANY ((ARRAY['QUEUED'::character varying, 'RUNNING'::character varying])::text[]));
-- create index "sync_jobs_open_heartbeat" to table: "sync_jobs"
CREATE INDEX "sync_jobs_open_heartbeat" ON "sync_jobs" ("heartbeat_at") WHERE ((status)::text = ANY ((ARRAY['QUEUED'::character varying, 'RUNNING'::character varying])::text[]));

-- +goose Down
-- reverse: create index "sync_jobs_open_heartbeat" to table: "sync_jobs"
DROP INDEX "sync_jobs_open_heartbeat";
-- reverse: create index "sync_jobs_one_open" to table: "sync_jobs"
DROP INDEX "sync_jobs_one_open";
-- reverse: drop index "sync_jobs_open_heartbeat" from table: "sync_jobs"
CREATE INDEX "sync_jobs_open_heartbeat" ON "sync_jobs" ("heartbeat_at") WHERE ((status)::text = ANY (ARRAY[('QUEUED'::character varying)::text, ('RUNNING'::character varying)::text]));
-- reverse: drop index "sync_jobs_one_open" from table: "sync_jobs"
CREATE UNIQUE INDEX "sync_jobs_one_open" ON "sync_jobs" ("connector_id") WHERE ((status)::text = ANY (ARRAY[('QUEUED'::character varying)::text, ('RUNNING'::character varying)::text]));
