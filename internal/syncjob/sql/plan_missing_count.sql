-- The number of documents of the connector of a plan ($1 workspace, $2 connector, $3 plan), of those that it did not see, and of
-- those among them that a dismissed deletion holds. The items that the plan has for them already change nothing.
-- Documents in the containers $4 are not missing.
select count(*),
    count(*) filter (where unmet and hold is distinct from 'RESTORED'),
    count(*) filter (where unmet and hold = 'DISMISSED')
from (
    select p.id is null and coalesce(i.container <> all ($4::text[]), true) or p.action in ('DELETE', 'QUARANTINE', 'KEEP') as unmet, i.hold
    from documents d
    left join lateral (
        select * from sync_items where connector_id = d.connector_id and source_id = d.source_id limit 1
    ) i on true
    left join lateral (
        select * from plan_items where job_id = $3 and source_id = d.source_id limit 1
    ) p on true
    where d.workspace_id = $1 and d.connector_id = $2 and d.status <> 'DELETED' and d.indexed_at is not null
) x
