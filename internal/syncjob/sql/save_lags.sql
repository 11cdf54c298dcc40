-- Adds lags to the counts of a connector for the present hour: $1 workspace, $2 connector, $3 now, then buckets, changes and the
-- longest lag of each.
insert into freshness as f (workspace_id, connector_id, hour, class, changes, longest)
select $1, $2, date_trunc('hour', $3::timestamptz), e.class, e.changes, e.longest
from unnest($4::bigint[], $5::bigint[], $6::double precision[]) as e (class, changes, longest)
order by e.class
on conflict (connector_id, hour, class) do update set changes = f.changes + excluded.changes, longest = greatest(f.longest, excluded.longest)
