-- Items whose newest version is not searchable yet, as earlier jobs left them, and archives with such entries: $1 workspace,
-- $2 connector, $3 job, $4 the last source id, at most $5. The ids of some archives are too long to be known from their entries.
select distinct coalesce(substring(source_id from '^(.*)!/'), source_id) from sync_items
where workspace_id = $1 and connector_id = $2 and waiting_since is not null and job_id <> $3 and gone_job_id is distinct from $3 and not suppressed
    and coalesce(octet_length(substring(source_id from '^(.*)!/')), 0) <= 696
    and coalesce(substring(source_id from '^(.*)!/'), source_id) > $4
order by 1 limit $5
