-- Plans that ended and are older than $1, or not among the $2 newest of their connector, at most $3.
select id from (
    select id, created_at, finished_at, row_number() over (partition by connector_id order by created_at desc, id desc) as place
    from sync_jobs where mode = 'PLAN'
) p
where finished_at is not null and (created_at < $1 or place > $2)
limit $3
