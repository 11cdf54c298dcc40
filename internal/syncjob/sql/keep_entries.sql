-- Marks the entries of unchanged or unreadable archives as seen by a job that is held, with the outcome that they have: $1 job,
-- $2 attempt, $3 workspace, $4 now, $5 source ids of the archives.
with held as (
    select id, workspace_id, connector_id from sync_jobs
    where id = $1 and attempt = $2 and workspace_id = $3 and status = 'RUNNING'
    for share
), kept as (
    update sync_items i set job_id = held.id, updated_at = $4, added = false, hold = case i.hold when 'RESTORED' then i.hold end,
        status = case i.status when 'INDEXED' then 'UNCHANGED' else i.status end
    from held
    where i.workspace_id = held.workspace_id and i.connector_id = held.connector_id and i.job_id is distinct from held.id
        and substring(i.source_id from '^(.*)!/') = any ($5::text[]) and i.status in ('INDEXED', 'UNCHANGED', 'SKIPPED', 'FAILED')
    returning i.status
)
select status, count(*) from kept group by status
