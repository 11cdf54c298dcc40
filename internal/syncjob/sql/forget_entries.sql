-- Deletes the ledger entries of archive entries that the job did not see and that have no document: $1 job, $2 attempt, $3 workspace,
-- $4 source id of the archive.
delete from sync_items i using sync_jobs j
where j.id = $1 and j.attempt = $2 and j.workspace_id = $3 and j.status = 'RUNNING'
    and i.workspace_id = j.workspace_id and i.connector_id = j.connector_id and i.job_id is distinct from j.id
    and substring(i.source_id from '^(.*)!/') = $4 and i.status in ('SKIPPED', 'FAILED', 'PENDING') and not i.suppressed
    and not exists (select from documents d where d.connector_id = i.connector_id and d.source_id = i.source_id)
