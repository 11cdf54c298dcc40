-- Documents that a plan ($1 workspace, $2 connector, $3 plan) did not see and has no item for, at most $4, and whether they were
-- restored by hand. Documents in the containers $5 are left out.
select d.id, d.source_id, d.path, coalesce(i.hold = 'RESTORED', false)
from documents d
left join lateral (
    select * from sync_items where connector_id = d.connector_id and source_id = d.source_id limit 1
) i on true
where d.workspace_id = $1 and d.connector_id = $2 and d.status <> 'DELETED' and d.indexed_at is not null
    and coalesce(i.container <> all ($5::text[]), true)
    and not exists (select from plan_items where job_id = $3 and source_id = d.source_id)
limit $4
