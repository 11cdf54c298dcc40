-- Holds the documents whose items are gone for a job that is held: $1 job, $2 attempt, $3 workspace, $4 now, $5 number of
-- documents, $6 the threshold, $7 and $8 as $4 and $5 of missing_count.sql. Returns 0 and writes nothing if the job is not held under this attempt. If a person has dismissed the
-- deletion of all missing documents before, it stays dismissed.
with held as (
    select id, workspace_id, connector_id from sync_jobs
    where id = $1 and attempt = $2 and workspace_id = $3 and status = 'RUNNING'
    for share
), gone as (
    select i.id, i.hold
    from held join documents d on d.workspace_id = held.workspace_id and d.connector_id = held.connector_id
    join lateral (
        select * from sync_items where connector_id = d.connector_id and source_id = d.source_id limit 1
    ) i on true
    where d.status <> 'DELETED' and d.indexed_at is not null
        and case when $7 then i.gone_job_id = held.id
            else (i.job_id <> held.id or i.status = 'DELETED') and i.container <> all ($8::text[])
                or coalesce(i.gone_job_id = held.id, false) end
        and i.hold is distinct from 'RESTORED'
), fresh as (
    select coalesce(bool_or(hold is distinct from 'DISMISSED'), false) as "any" from gone
), marked as (
    update sync_items set hold = 'QUARANTINED', updated_at = $4
    from gone, fresh
    where sync_items.id = gone.id and fresh.any and gone.hold is distinct from 'QUARANTINED'
), noted as (
    insert into quarantines as q (workspace_id, connector_id, job_id, since, existing, threshold)
    select held.workspace_id, held.connector_id, held.id, $4, $5, $6 from held, fresh where fresh.any
    on conflict (connector_id) do update set job_id = excluded.job_id, existing = excluded.existing, threshold = excluded.threshold
)
select (select count(*) from held), (select fresh.any from fresh), (select count(*) from gone)
