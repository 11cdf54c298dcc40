-- Stores items of a plan for a job that is held: $1 job, $2 attempt, $3 workspace, $4 now, then one array a column. Returns the
-- number of jobs that are held, 0 if nothing was written, and the new items by action.
with held as (
    select id, workspace_id, connector_id from sync_jobs
    where id = $1 and attempt = $2 and workspace_id = $3 and status = 'RUNNING'
    for share
), written as (
    insert into plan_items (id, created_at, updated_at, workspace_id, connector_id, job_id, document_id, source_id, path, action,
        reason, size, version)
    select e.id, $4, $4, held.workspace_id, held.connector_id, held.id, nullif(e.document_id, '')::uuid, e.source_id, e.path,
        e.action, nullif(e.reason, ''), e.size, e.version
    from held, unnest($5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::bigint[], $12::text[])
        as e (id, document_id, source_id, path, action, reason, size, version)
    order by e.source_id
    on conflict (job_id, source_id) do update set
        updated_at = excluded.updated_at, document_id = excluded.document_id, path = excluded.path, action = excluded.action,
        reason = excluded.reason, size = excluded.size, version = excluded.version
    returning action, (xmax = 0) as fresh
)
select (select count(*) from held), coalesce(w.action, ''), coalesce(w.n, 0)
from (select 1) one left join (select action, count(*) as n from written where fresh group by action) w on true
