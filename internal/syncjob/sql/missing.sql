-- Documents whose items are gone for a job ($1 workspace, $2 connector, $3 job) and that it has not deleted yet, at most $4. They
-- are those whose items the source said to be gone or the settings exclude now and, without $5, those that the job did not see,
-- except in the containers $6. Documents that were restored by hand are not missing.
select d.id, d.source_id, d.path, d.indexed_at is null from documents d
left join lateral (
    select * from sync_items where connector_id = d.connector_id and source_id = d.source_id limit 1
) i on true
where d.workspace_id = $1 and d.connector_id = $2 and d.status <> 'DELETED'
    and case when $5 then i.gone_job_id = $3
        else (i.job_id is distinct from $3 or i.status = 'DELETED') and coalesce(i.container <> all ($6::text[]), true)
            or coalesce(i.gone_job_id = $3, false) end
    and i.hold is distinct from 'RESTORED'
limit $4
