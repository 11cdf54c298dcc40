-- The newest job of each connector of a list ($1) that is no plan: one index look-up a connector.
select j.id from unnest($1::uuid[]) as c (id)
cross join lateral (select id from sync_jobs where connector_id = c.id and mode <> 'PLAN' order by created_at desc, id desc limit 1) j
