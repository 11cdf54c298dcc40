-- Joins events to the log by request and counts them, each once. It must run
-- after the commit of whatever it is called for, of events or of log rows:
-- whoever comes later of the two then sees both. For the same reason a row that
-- another one is at is waited for and not skipped.
with waiting as materialized (
    select e.id, e.workspace_id, e.request_id, e.type, e.position, e.rating
    from (select distinct * from unnest($1::uuid[], $2::text[])) asked (workspace_id, request_id)
    join query_events e on e.workspace_id = asked.workspace_id and e.request_id = asked.request_id
    where not e.counted
    order by e.id
    for update of e
),
-- Clients may choose request ids, and use one twice: the last first page counts.
found as materialized (
    select e.id as event_id, e.type, e.position, e.rating, l.*, (l.at at time zone 'UTC')::date as day
    from waiting e
    cross join lateral (
        select * from query_log q
        where q.workspace_id = e.workspace_id and q.request_id = e.request_id
        order by q.next_page, q.at desc, q.id
        limit 1
    ) l
),
first_clicks as (
    update query_log q set clicked = true
    from (select distinct id from found where type = 'click') f
    where q.id = f.id and not q.clicked
    returning q.id
),
marked as (
    update query_events e set counted = true, collection_id = f.collection_id
    from found f where e.id = f.event_id
),
stats as (
    insert into query_stats (workspace_id, day, kind, surface, api_key_id, collection_id, bucket,
        queries, pages, zero_results, clicks, clicked, ranked_clicks, reciprocal_ranks, positive, negative)
    select f.workspace_id, f.day, f.kind, f.surface, f.api_key_id, f.collection_id, f.bucket, 0, 0, 0,
        count(*) filter (where f.type = 'click'),
        count(distinct c.id) filter (where not f.next_page),
        count(f.position) filter (where f.type = 'click'),
        coalesce(sum(1.0 / (f.position::double precision + 1)) filter (where f.type = 'click'), 0),
        count(*) filter (where f.rating = 'positive'),
        count(*) filter (where f.rating = 'negative')
    from found f left join first_clicks c on c.id = f.id
    group by 1, 2, 3, 4, 5, 6, 7
    order by 1, 2, 3, 4, 5, 6, 7
    on conflict on constraint query_stats_key do update set
        clicks = query_stats.clicks + excluded.clicks,
        clicked = query_stats.clicked + excluded.clicked,
        ranked_clicks = query_stats.ranked_clicks + excluded.ranked_clicks,
        reciprocal_ranks = query_stats.reciprocal_ranks + excluded.reciprocal_ranks,
        positive = query_stats.positive + excluded.positive,
        negative = query_stats.negative + excluded.negative
),
days as (
    insert into query_text_days (workspace_id, day, text_id, kind, api_key_id, collection_id,
        queries, zero_results, clicks, scored, scores, last_at)
    select workspace_id, day, text_id, kind, api_key_id, collection_id, 0, 0, count(*), 0, 0, max(at)
    from found
    where type = 'click' and text_id is not null
    group by 1, 2, 3, 4, 5, 6
    order by 1, 2, 3, 4, 5, 6
    on conflict on constraint query_text_days_key do update set clicks = query_text_days.clicks + excluded.clicks
)
select count(*) from found
