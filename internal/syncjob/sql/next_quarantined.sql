-- Documents in quarantine: $1 workspace, $2 connector, at most $3.
select d.id, d.source_id, d.path
from sync_items i join documents d on d.id = i.document_id
where i.workspace_id = $1 and i.connector_id = $2 and i.hold = 'QUARANTINED' and d.status <> 'DELETED'
limit $3
