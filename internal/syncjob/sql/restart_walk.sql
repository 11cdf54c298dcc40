-- Makes a job that is held walk the source: $1 job, $2 attempt, $3 workspace, $4 the token of the present. Its outcomes so far do
-- not count as seen, so that the walk finds what changed since. Returns the number of jobs that are held.
with held as (
    update sync_jobs set feed = false, cursor = '', walked = false, feed_token = $4, incomplete = null
    where id = $1 and attempt = $2 and workspace_id = $3 and status = 'RUNNING'
    returning id, workspace_id, connector_id
), unseen as (
    update sync_items i set job_id = '00000000-0000-0000-0000-000000000000', gone_job_id = null
    from held
    where i.workspace_id = held.workspace_id and i.connector_id = held.connector_id and (i.job_id = held.id or i.gone_job_id = held.id)
)
select count(*) from held
