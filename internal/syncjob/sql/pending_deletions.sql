-- The deletions in quarantine of connectors ($1) of a workspace ($2; null: any).
select q.connector_id, count(*), q.since, q.job_id, q.existing, q.threshold
from quarantines q
join sync_items i on i.connector_id = q.connector_id and i.hold = 'QUARANTINED'
join documents d on d.id = i.document_id and d.status <> 'DELETED'
where q.connector_id = any ($1::uuid[]) and ($2::uuid is null or q.workspace_id = $2)
group by q.connector_id
