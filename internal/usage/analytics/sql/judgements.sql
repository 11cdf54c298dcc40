-- Clicks and feedback on documents that can be found, by text and document. A request
-- counts once for a document, with its best position. Feedback without a document is
-- on the documents that were clicked in its request.
with events as materialized (
    select l.text_id, e.request_id, e.type, e.rating, e.position, coalesce(e.document_id, p.document_id) as document_id
    from query_log l
    join query_events e on e.workspace_id = l.workspace_id and e.request_id = l.request_id and e.collection_id = l.collection_id
    left join passages p on p.collection_id = $2 and p.id = e.passage_id and e.document_id is null
    where l.workspace_id = $1 and l.collection_id = $2 and l.at >= $3 and l.text_id = any ($4) and not l.next_page and l.filters = '{}'
),
clicks as (
    select text_id, request_id, document_id, coalesce(min(position), 0) as position
    from events where type = 'click' and document_id is not null
    group by 1, 2, 3
),
thumbs as (
    select f.text_id, coalesce(f.document_id, c.document_id) as document_id, f.rating
    from events f
    left join clicks c on f.document_id is null and c.text_id = f.text_id and c.request_id = f.request_id
    where f.type = 'feedback'
),
judgements as (
    select text_id, document_id, count(*) as clicks, sum(least(position + 1, $5)) as weight, 0 as positive, 0 as negative
    from clicks group by 1, 2
    union all
    select text_id, document_id, 0, 0, count(*) filter (where rating = 'positive'), count(*) filter (where rating = 'negative')
    from thumbs where document_id is not null group by 1, 2
)
select j.text_id, j.document_id, sum(j.clicks)::int, sum(j.weight)::float8, sum(j.positive)::int, sum(j.negative)::int
from judgements j
join documents d on d.id = j.document_id and d.workspace_id = $1 and d.collection_id = $2 and d.deleted_at is null and d.status <> 'DELETED'
group by 1, 2
order by 1, 2
