-- Documents of entries of an archive that a job ($1 workspace, $2 connector, $3 job) did not see, $4 source id of the archive,
-- at most $5.
select d.id, d.source_id, d.path, d.indexed_at is null from documents d
left join lateral (
    select * from sync_items where connector_id = d.connector_id and source_id = d.source_id limit 1
) i on true
where d.workspace_id = $1 and d.connector_id = $2 and substring(d.source_id from '^(.*)!/') = $4 and d.status <> 'DELETED'
    and (i.job_id is distinct from $3 or i.status = 'DELETED') and i.hold is distinct from 'RESTORED'
limit $5
