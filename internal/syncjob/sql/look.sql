-- What is known of items: $1 workspace, $2 connector, $3 job, $4 their source ids.
select s.source_id,
    i.id is not null, coalesce(i.job_id = $3, false), coalesce(i.status, ''), coalesce(i.added, false),
    coalesce(i.reason, ''), coalesce(i.suppressed, false), coalesce(i.source_version, ''), coalesce(i.pipeline_version, 0),
    d.id, coalesce(d.status, ''), coalesce(d.source_version, ''), d.content_hash, d.processed_at
from unnest($4::text[]) as s (source_id)
left join sync_items i on i.connector_id = $2 and i.source_id = s.source_id and i.workspace_id = $1
left join documents d on d.connector_id = $2 and d.source_id = s.source_id and d.workspace_id = $1
