-- How many documents there are of the connector of a plan ($1 workspace, $2 connector, $3 the plan), how many of them it did
-- not meet, and how many of these a dismissed deletion holds. The lines that the plan has for them already change nothing.
select count(*),
    count(*) filter (where unmet and hold is distinct from 'RESTORED'),
    count(*) filter (where unmet and hold = 'DISMISSED')
from (
    select p.id is null or p.action in ('DELETE', 'QUARANTINE', 'KEEP') as unmet, i.hold
    from documents d
    left join lateral (
        select * from sync_items where connector_id = d.connector_id and source_id = d.source_id limit 1
    ) i on true
    left join lateral (
        select * from plan_items where job_id = $3 and source_id = d.source_id limit 1
    ) p on true
    where d.workspace_id = $1 and d.connector_id = $2 and d.status <> 'DELETED' and d.indexed_at is not null
) x
