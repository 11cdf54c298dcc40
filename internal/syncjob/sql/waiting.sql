-- Since when the oldest change of connectors ($1; none: of all together) of a workspace ($2; null: any) waits, and how many do.
select case when cardinality($1::uuid[]) > 0 then connector_id else '00000000-0000-0000-0000-000000000000'::uuid end, min(waiting_since), count(*)
from sync_items
where waiting_since is not null and (cardinality($1::uuid[]) = 0 or connector_id = any ($1)) and ($2::uuid is null or workspace_id = $2)
group by 1
