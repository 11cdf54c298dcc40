-- Notes that the source says that items are gone, for a job that is held: $1 job, $2 attempt, $3 workspace, $4 source ids of the
-- items, $5 the same ids as archives. Returns the number of jobs that are held and of entries of items.
with held as (
    select id, workspace_id, connector_id from sync_jobs
    where id = $1 and attempt = $2 and workspace_id = $3 and status = 'RUNNING'
    for share
), marked as (
    update sync_items i set gone_job_id = held.id
    from held
    where i.workspace_id = held.workspace_id and i.connector_id = held.connector_id and i.gone_job_id is distinct from held.id
        and (i.source_id = any ($4::text[]) or substring(i.source_id from '^(.*)!/') = any ($5::text[]))
)
select count(*) from held
