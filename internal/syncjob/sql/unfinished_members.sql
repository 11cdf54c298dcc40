-- Whether an archive has members that failed or were never finished: $1 workspace, $2 connector, $3 the archive's source id.
select exists (
    select from sync_items
    where workspace_id = $1 and connector_id = $2 and substring(source_id from '^(.*)!/') = $3 and status in ('FAILED', 'PENDING')
)
