-- Stores the decision of the guard for a plan whose job is held: $1 job, $2 attempt, $3 workspace, then its fields.
with held as (
    select id, workspace_id from sync_jobs
    where id = $1 and attempt = $2 and workspace_id = $3 and status = 'RUNNING'
    for share
), written as (
    insert into plan_guards (workspace_id, job_id, blocked, missing, existing, threshold)
    select workspace_id, id, $4, $5, $6, $7 from held
    on conflict (job_id) do update set blocked = excluded.blocked, missing = excluded.missing, existing = excluded.existing,
        threshold = excluded.threshold
)
select count(*) from held
