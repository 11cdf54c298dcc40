-- Stores outcomes of items for a job that is held: $1 job, $2 attempt, $3 workspace, $4 now, then one array a column. Returns 0
-- and writes nothing if the job is not held under this attempt.
with held as (
    select id, workspace_id, connector_id from sync_jobs
    where id = $1 and attempt = $2 and workspace_id = $3 and status = 'RUNNING'
    for share
), written as (
    insert into sync_items as i (id, created_at, updated_at, workspace_id, connector_id, job_id, document_id, source_id,
        path, status, added, reason, retryable, source_version, pipeline_version, waiting_since, container, gone_job_id)
    select e.id, $4, $4, held.workspace_id, held.connector_id, held.id, nullif(e.document_id, '')::uuid, e.source_id,
        e.path, e.status, false, nullif(e.reason, ''), e.retryable, e.source_version, e.pipeline_version,
        case when e.status = 'PENDING' or e.status = 'FAILED' and e.retryable then $4::timestamptz end, e.container,
        case when e.excluded then held.id end
    from held, unnest($5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::boolean[], $12::text[], $13::bigint[],
        $14::text[], $15::boolean[]) as e (id, document_id, source_id, path, status, reason, retryable, source_version, pipeline_version,
        container, excluded)
    order by e.source_id
    on conflict (connector_id, source_id) do update set
        updated_at = excluded.updated_at, job_id = excluded.job_id,
        -- A pending entry keeps the path of the last outcome.
        path = case excluded.status when 'PENDING' then i.path else excluded.path end,
        document_id = coalesce(excluded.document_id, i.document_id),
        status = excluded.status, added = false, reason = excluded.reason, retryable = excluded.retryable,
        container = excluded.container,
        -- A new outcome ends every hold, and says that the item is there, unless it is excluded now.
        hold = case when excluded.gone_job_id is not null then i.hold end, gone_job_id = excluded.gone_job_id, waiting_since = case when excluded.waiting_since is not null then coalesce(i.waiting_since, excluded.waiting_since) end,
        -- A pending entry keeps the source version of the last outcome.
        source_version = case excluded.status when 'PENDING' then i.source_version else excluded.source_version end,
        pipeline_version = case excluded.status when 'PENDING' then i.pipeline_version else excluded.pipeline_version end
)
select count(*) from held
