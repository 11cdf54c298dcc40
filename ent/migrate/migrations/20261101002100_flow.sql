-- +goose Up
-- Who waits for a worker, since when, and how often each job had its turn.
ALTER TABLE "sync_jobs" ADD COLUMN "turn_at" timestamptz NULL, ADD COLUMN "taken_at" timestamptz NULL, ADD COLUMN "turns" bigint NOT NULL DEFAULT 0;
update sync_jobs set turn_at = updated_at where status in ('QUEUED', 'RUNNING');
create index sync_jobs_waiting on sync_jobs (turn_at) where status in ('QUEUED', 'RUNNING');
create index sync_jobs_taken on sync_jobs (workspace_id, taken_at);
-- +goose Down
drop index sync_jobs_taken;
drop index sync_jobs_waiting;
ALTER TABLE "sync_jobs" DROP COLUMN "turns", DROP COLUMN "taken_at", DROP COLUMN "turn_at";
