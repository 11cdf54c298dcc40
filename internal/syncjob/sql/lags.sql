-- The lags of connectors ($1; empty: all together) of a workspace ($2; null: any), by bucket, since $4, and whether they are since $3.
select case when cardinality($1::uuid[]) > 0 then connector_id else '00000000-0000-0000-0000-000000000000'::uuid end, hour > $3, class,
    sum(changes)::bigint, max(longest)
from freshness
where (cardinality($1::uuid[]) = 0 or connector_id = any ($1)) and ($2::uuid is null or workspace_id = $2) and hour > $4
group by 1, 2, 3
