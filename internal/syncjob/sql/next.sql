-- The jobs whose turn it is, in order: $1 now, $2 job and $3 attempt of the task, which may be claimed before its time, $4 the
-- oldest heartbeat of a worker that counts as alive, $5 seconds that a job waits longer for each doubling of its turns.
with waiting as (
    select j.id, j.attempt, j.workspace_id, j.turns, least(coalesce(j.turn_at, $1), $1) as since
    from sync_jobs j join connectors c on c.id = j.connector_id
    where j.status in ('QUEUED', 'RUNNING')
        and (j.turn_at <= $1 or j.id = $2 and j.attempt = $3)
        and not (c.status = 'PAUSED' and c.enabled)
), spaces as (
    select w.workspace_id,
        (select count(*) from sync_jobs h where h.workspace_id = w.workspace_id and h.status = 'RUNNING'
            and h.turn_at is null and h.heartbeat_at > $4) as held,
        (select max(t.taken_at) from sync_jobs t where t.workspace_id = w.workspace_id) as taken
    from (select distinct workspace_id from waiting) w
)
select w.id, w.attempt
from waiting w join spaces s on s.workspace_id = w.workspace_id
order by s.held, s.taken nulls first,
    log(2.0, w.turns + 1) * $5::float8::numeric - extract(epoch from $1::timestamptz - w.since), w.since, w.id
limit 16
