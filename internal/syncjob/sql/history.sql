-- The syncs of connectors ($1) of a workspace ($2; null: any) since $3, and the times of the last success and failure.
select connector_id,
    count(*) filter (where recent and status = 'COMPLETED'), count(*) filter (where recent and status = 'PARTIAL'),
    count(*) filter (where recent and status = 'FAILED'), count(*) filter (where recent and status = 'CANCELED'),
    count(*) filter (where recent and status in ('QUEUED', 'RUNNING')),
    coalesce(sum(extract(epoch from finished_at - started_at)) filter (where recent and through), 0)::double precision,
    coalesce(sum(pages) filter (where recent), 0)::bigint, coalesce(sum(retried) filter (where recent), 0)::bigint,
    coalesce(sum(bytes_fetched) filter (where recent), 0)::bigint, coalesce(sum(added) filter (where recent), 0)::bigint,
    coalesce(sum(modified) filter (where recent), 0)::bigint, coalesce(sum(deleted) filter (where recent), 0)::bigint,
    max(finished_at) filter (where through), max(finished_at) filter (where status = 'FAILED')
from (
    select *, created_at > $3 as recent, status in ('COMPLETED', 'PARTIAL') as through from sync_jobs
    where connector_id = any ($1::uuid[]) and ($2::uuid is null or workspace_id = $2) and mode in ('AUTO', 'FULL', 'INCREMENTAL')
) j
group by connector_id
