-- Turns the deletions of a plan whose job is held into items in quarantine: $1 job, $2 attempt, $3 workspace, $4 the reason.
with held as (
    select id from sync_jobs
    where id = $1 and attempt = $2 and workspace_id = $3 and status = 'RUNNING'
    for share
), changed as (
    update plan_items p set action = 'QUARANTINE', reason = $4 from held where p.job_id = held.id and p.action = 'DELETE'
)
select count(*) from held
