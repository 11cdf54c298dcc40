-- When the oldest change of connectors ($1; empty: all together) of a workspace ($2; null: any) was found that is not searchable
-- yet, and the number of such changes.
select case when cardinality($1::uuid[]) > 0 then connector_id else '00000000-0000-0000-0000-000000000000'::uuid end, min(waiting_since), count(*)
from sync_items
where waiting_since is not null and (cardinality($1::uuid[]) = 0 or connector_id = any ($1)) and ($2::uuid is null or workspace_id = $2)
group by 1
