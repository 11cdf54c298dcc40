with given as (
    select * from unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::uuid[],
        $9::bigint[], $10::text[], $11::text[], $12::integer[], $13::real[], $14::text[], $15::boolean[], $16::real[],
        $17::smallint[], $18::uuid[], $19::boolean[])
    as g(id, workspace_id, at, request_id, surface, kind, api_key_id, collection_id,
        text_id, text, language, results, top_score, filters, next_page, took_ms, bucket, conversation_id, sourced)
),
-- Rows of a workspace or collection that ended meanwhile are left out. The
-- counts follow from the rows that are new: a batch that is sent again because
-- its answer was lost counts once.
logged as (
    insert into query_log (id, workspace_id, at, request_id, surface, kind, api_key_id, collection_id,
        text_id, language, results, top_score, filters, next_page, took_ms, bucket, conversation_id, sourced)
    select id, workspace_id, at, request_id, surface, kind, api_key_id, collection_id,
        text_id, language, results, top_score, string_to_array(filters, ','), next_page, took_ms, bucket, conversation_id, sourced
    from given g
    where exists (select from workspaces w where w.id = g.workspace_id)
        and (g.collection_id is null
            or exists (select from collections c where c.workspace_id = g.workspace_id and c.id = g.collection_id))
    on conflict (id) do nothing
    returning *, (at at time zone 'UTC')::date as day, case kind when 'search' then results = 0 else sourced is false end as zero
),
texts as (
    insert into query_texts (workspace_id, id, text, last_day, queries, zero_results)
    select l.workspace_id, l.text_id, min(g.text), max(l.day),
        count(*) filter (where not l.next_page), count(*) filter (where l.zero and not l.next_page)
    from logged l join given g on g.id = l.id
    where l.text_id is not null
    group by 1, 2
    order by 1, 2
    on conflict (workspace_id, id) do update set
        last_day = greatest(query_texts.last_day, excluded.last_day),
        queries = query_texts.queries + excluded.queries,
        zero_results = query_texts.zero_results + excluded.zero_results
),
stats as (
    insert into query_stats (workspace_id, day, kind, surface, api_key_id, collection_id, bucket,
        queries, pages, zero_results, clicks, clicked, ranked_clicks, reciprocal_ranks, positive, negative)
    select workspace_id, day, kind, surface, api_key_id, collection_id, bucket,
        count(*) filter (where not next_page), count(*) filter (where next_page), count(*) filter (where zero and not next_page),
        0, 0, 0, 0, 0, 0
    from logged
    group by 1, 2, 3, 4, 5, 6, 7
    order by 1, 2, 3, 4, 5, 6, 7
    on conflict on constraint query_stats_key do update set
        queries = query_stats.queries + excluded.queries,
        pages = query_stats.pages + excluded.pages,
        zero_results = query_stats.zero_results + excluded.zero_results
),
days as (
    insert into query_text_days (workspace_id, day, text_id, kind, api_key_id, collection_id,
        queries, zero_results, clicks, scored, scores, last_at)
    select workspace_id, day, text_id, kind, api_key_id, collection_id,
        count(*), count(*) filter (where zero), 0, count(top_score), coalesce(sum(top_score), 0), max(at)
    from logged
    where text_id is not null and not next_page
    group by 1, 2, 3, 4, 5, 6
    order by 1, 3, 2, 4, 5, 6
    on conflict on constraint query_text_days_key do update set
        queries = query_text_days.queries + excluded.queries,
        zero_results = query_text_days.zero_results + excluded.zero_results,
        scored = query_text_days.scored + excluded.scored,
        scores = query_text_days.scores + excluded.scores,
        last_at = greatest(query_text_days.last_at, excluded.last_at)
)
select count(*) from logged
