-- The entries of archives in the ledger: $1 workspace, $2 connector, $3 source ids of the archives.
select source_id, path, document_id, status, coalesce(reason, '')
from sync_items
where workspace_id = $1 and connector_id = $2 and substring(source_id from '^(.*)!/') = any ($3::text[])
    and status in ('INDEXED', 'UNCHANGED', 'SKIPPED', 'FAILED')
