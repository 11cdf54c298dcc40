-- The number of documents that existed before a job ($1 workspace, $2 connector, $3 job), and of those whose items are gone for it.
-- They are those whose items the source said to be gone or the settings exclude now and, without $4, those that the job did not
-- see, except in the containers $5. The last number is that of excluded ones. Documents that the job has deleted already count in both, so that a repeated call has the same result. The limit
-- makes it one look-up in the unique index a document, whatever the planner's statistics are right after a first sync. Documents
-- that were restored by hand are not missing. Documents that were never indexed are counted on their own.
select count(*) filter (where indexed), count(*) filter (where indexed and missing and hold is distinct from 'RESTORED'),
    count(*) filter (where not indexed and missing), count(*) filter (where indexed and excluded)
from (
    select d.indexed_at is not null as indexed, i.hold,
        case when $4 then i.gone_job_id = $3
            else (i.job_id is distinct from $3 or i.status = 'DELETED') and coalesce(i.container <> all ($5::text[]), true)
                or coalesce(i.gone_job_id = $3, false) end as missing,
        i.gone_job_id = $3 and i.status = 'SKIPPED' as excluded
    from documents d
    left join lateral (
        select * from sync_items where connector_id = d.connector_id and source_id = d.source_id limit 1
    ) i on true
    where d.workspace_id = $1 and d.connector_id = $2
        and (d.status <> 'DELETED' or i.job_id = $3 and i.status = 'DELETED' and not i.suppressed)
        and not coalesce(i.job_id = $3 and i.status = 'INDEXED' and i.added, false)
) x
