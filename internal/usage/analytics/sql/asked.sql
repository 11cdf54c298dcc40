-- Questions to a collection without filters that were asked at least $4 times. A
-- conversation, and a request id, count once.
select q.text_id, t.text, q.asked::int
from (
    select text_id, count(distinct coalesce(conversation_id::text, request_id)) as asked
    from query_log
    where workspace_id = $1 and collection_id = $2 and at >= $3 and text_id is not null and not next_page and filters = '{}'
    group by text_id
    having count(distinct coalesce(conversation_id::text, request_id)) >= $4
    order by asked desc, text_id
    limit $5
) q
join query_texts t on t.workspace_id = $1 and t.id = q.text_id
order by q.asked desc, q.text_id
