-- Jobs that ended before $1, except for the $2 newest of each connector and those of a quarantine; at most $3.
delete from sync_jobs where id in (
    select j.id from sync_jobs j
    where j.finished_at < $1
        and j.id not in (select n.id from sync_jobs n where n.connector_id = j.connector_id order by n.created_at desc, n.id desc limit $2)
        and not exists (select from quarantines q where q.job_id = j.id)
    limit $3
)
