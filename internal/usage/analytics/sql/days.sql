-- One row a day and kind, and one a kind and bucket of times.
select day, kind, bucket,
    sum(queries)::bigint, sum(zero_results)::bigint, sum(clicks)::bigint, sum(clicked)::bigint,
    sum(ranked_clicks)::bigint, sum(reciprocal_ranks), sum(positive)::bigint, sum(negative)::bigint
from query_stats
where workspace_id = $1 and day between $2 and $3
    and ($4::uuid is null or collection_id = $4)
    and ($5::uuid is null or api_key_id = $5)
    and ($6::text is null or kind = $6)
    and ($7::boolean or collection_id = any ($8::uuid[]))
group by grouping sets ((day, kind), (kind, bucket))
