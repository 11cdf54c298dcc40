-- Ends the quarantine of the connector of a job that is held: $1 job, $2 attempt, $3 workspace.
delete from quarantines q using sync_jobs j
where j.id = $1 and j.attempt = $2 and j.workspace_id = $3 and j.status = 'RUNNING'
    and q.workspace_id = j.workspace_id and q.connector_id = j.connector_id
