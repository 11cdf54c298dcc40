-- Whether an archive has entries that failed or are incomplete: $1 workspace, $2 connector, $3 source id of the archive.
select exists (
    select from sync_items
    where workspace_id = $1 and connector_id = $2 and substring(source_id from '^(.*)!/') = $3 and status in ('FAILED', 'PENDING')
)
