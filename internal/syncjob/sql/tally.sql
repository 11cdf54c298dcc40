-- The outcomes of a job: $1 workspace, $2 connector, $3 job. What was deleted by hand is none of them.
select status, added, count(*) from sync_items
where workspace_id = $1 and connector_id = $2 and job_id = $3 and not (suppressed and status = 'DELETED')
group by status, added
