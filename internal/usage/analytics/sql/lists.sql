-- Questions that are worth a place in a list: $11 of those asked most, and as
-- many of those that most often found nothing. The statement counts them alone,
-- or all, by what is put at the mark.
with chosen as materialized (
    (select id from query_texts where workspace_id = $1 order by queries desc limit $11)
    union
    (select id from query_texts where workspace_id = $1 and zero_results > 0 order by zero_results desc limit $11)
),
asked as materialized (
    select text_id, sum(queries) as queries, sum(zero_results) as zero_results, sum(clicks) as clicks,
        sum(scores) / nullif(sum(scored), 0) as score, max(last_at) as last_at
    from query_text_days
    where workspace_id = $1 and day between $2 and $3
        and ($4::uuid is null or collection_id = $4)
        and ($5::uuid is null or api_key_id = $5)
        and ($6::text is null or kind = $6)
        and ($7::boolean or collection_id = any ($8::uuid[]))
        %s
    group by text_id
),
listed as (
    (select 0 as list, queries as rank, * from asked where queries > 0 order by queries desc, text_id limit $9)
    union all
    (select 1, zero_results, * from asked where zero_results > 0 order by zero_results desc, text_id limit $9)
    union all
    (select 2, queries, * from asked where score < $10 order by queries desc, text_id limit $9)
    union all
    (select 3, queries, * from asked where clicks = 0 and queries > zero_results order by queries desc, text_id limit $9)
)
select list, t.text, l.queries::bigint, l.zero_results::bigint, l.clicks::bigint, l.score, l.last_at, newest.collection_id
from listed l join query_texts t on t.workspace_id = $1 and t.id = l.text_id
left join lateral (
    select d.collection_id from query_text_days d
    where d.workspace_id = $1 and d.text_id = l.text_id and d.day between $2 and $3
        and ($4::uuid is null or d.collection_id = $4)
        and ($5::uuid is null or d.api_key_id = $5)
        and ($6::text is null or d.kind = $6)
        and ($7::boolean or d.collection_id = any ($8::uuid[]))
    order by d.last_at desc, d.collection_id limit 1
) newest on true
order by list, rank desc, l.text_id
