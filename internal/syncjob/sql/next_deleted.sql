-- Documents that a job has deleted and that still exist, except for those whose files were deleted since: $1 workspace,
-- $2 connector, $3 job, at most $4.
select d.id
from sync_items i join documents d on d.id = i.document_id
where i.workspace_id = $1 and i.connector_id = $2 and i.job_id = $3 and i.status = 'DELETED' and not i.suppressed
    and i.reason is distinct from 'the file was deleted'
    and d.deleted_at is not null and d.indexed_at is not null
limit $4
