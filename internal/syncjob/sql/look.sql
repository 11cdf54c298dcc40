-- The states of items: $1 workspace, $2 connector, $3 job, $4 source ids. The limits make it one look-up in the unique index
-- an item, whatever the planner's statistics are right after a first sync.
select s.source_id,
    i.id is not null, coalesce(i.job_id = $3, false), coalesce(i.status, ''), coalesce(i.added, false),
    coalesce(i.reason, ''), coalesce(i.suppressed, false), coalesce(i.source_version, ''), coalesce(i.pipeline_version, 0),
    i.waiting_since, coalesce(i.path, ''), coalesce(i.gone_job_id = $3, false), d.id, coalesce(d.status, ''), coalesce(d.source_version, ''), d.content_hash, d.processed_at, coalesce(d.path, ''), coalesce(d.bytes, 0)
from unnest($4::text[]) as s (source_id)
left join lateral (
    select * from sync_items where connector_id = $2 and source_id = s.source_id and workspace_id = $1 limit 1
) i on true
left join lateral (
    select * from documents where connector_id = $2 and source_id = s.source_id and workspace_id = $1 limit 1
) d on true
