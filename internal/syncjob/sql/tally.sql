-- The outcomes of a job: $1 workspace, $2 connector, $3 job, without what people have deleted or restored.
select status, added, count(*) from sync_items
where workspace_id = $1 and connector_id = $2 and job_id = $3
    and not (status = 'DELETED' and (suppressed or coalesce(reason = 'the file was deleted', false)))
    and (added or hold is distinct from 'RESTORED')
group by status, added
