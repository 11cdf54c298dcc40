-- Documents that a job ($1 workspace, $2 connector, $3 job) did not see and whose items the source has not said to be gone, except
-- in the containers $5, at most $4, in the order of their source ids after $6. Documents that were restored by hand are left out.
select d.id, d.source_id, d.path, d.indexed_at is null from documents d
left join lateral (
    select * from sync_items where connector_id = d.connector_id and source_id = d.source_id limit 1
) i on true
where d.workspace_id = $1 and d.connector_id = $2 and d.status <> 'DELETED'
    and (i.job_id is distinct from $3 or i.status = 'DELETED') and i.gone_job_id is distinct from $3
    and coalesce(i.container <> all ($5::text[]), true) and i.hold is distinct from 'RESTORED' and d.source_id > $6
order by d.source_id limit $4
