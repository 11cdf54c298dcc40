-- +goose Up
-- A distributed engine finds passages by their ids: magpie_passages has them as a way.

-- magpie_passages are the passages of one collection that the filter leaves, by
-- one of these ways:
--   'words': up to p_most of those that match p_query, a query over lexemes;
--   'near': the p_most that are most similar to p_embedding, by the vector index;
--   'scan': the same by looking at every vector, and exact;
--   'documents': all of p_documents;
--   'named': the passages with the ids p_documents.
-- hits are the passage's lexemes out of p_terms with their positions; similarity
-- is null without a vector of p_model of p_embedding's length.
-- +goose StatementBegin
create or replace function magpie_passages(
    p_workspace uuid, p_collection uuid, p_filter jsonb, p_terms text[], p_model text, p_embedding halfvec,
    p_way text, p_query tsquery, p_documents uuid[], p_most integer)
returns table (
    place tid, passage_id uuid, document_id uuid, ordinal integer,
    title_words integer, heading_words integer, path_words integer, body_words integer,
    changed timestamptz, hits tsvector, similarity double precision)
language plpgsql security definer rows 1000
set search_path = pg_catalog, public, pg_temp
set jit = off
set work_mem = '16MB'
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
    -- The collection's partitions.
    passage_part text := 'passage_index_p' || magpie_part(p_collection);
    vector_part text := 'passage_vectors_p' || magpie_part(p_collection);
    dims integer := vector_dims(p_embedding);
    cosine text := case when dims is null then 'null::double precision' else format(
        'case when i.model = %1$L and vector_dims(i.embedding) = %2$s then -(i.embedding <#> $2)
            else (select -(v.embedding <#> $2) from %3$I v
                where v.passage_id = i.passage_id and v.model = %1$L and vector_dims(v.embedding) = %2$s) end', p_model, dims, vector_part) end;
    chosen text := 'select i.ctid, i.passage_id, i.document_id, i.ordinal,
            i.title_words, i.heading_words, i.path_words, i.body_words, d.changed,
            ts_filter(setweight(i.lexemes, ''C'', $1), ''{c}''), ' || cosine;
    -- A join that must look the document of each row up: "offset" keeps the
    -- planner from anything else.
    document text := format(
        ' cross join lateral (
            select coalesce(d.source_updated_at, d.source_created_at) as changed from documents d
            where d.id = i.document_id and %s offset 0) d ', magpie_live(p_filter));
    spoken text := magpie_spoken(p_filter);
    own text := magpie_own(p_collection);
begin
    if not magpie_reach(p_workspace, p_collection) then
        return;
    end if;
    case p_way
    when 'words' then
        return query execute format(
            '%s from %I i %s where i.lexemes @@ $3 and %s %s limit $4', chosen, passage_part, document, own, spoken)
        using p_terms, p_embedding, p_query, p_most;
    when 'near' then
        perform set_config('hnsw.iterative_scan', 'relaxed_order', true),
            set_config('hnsw.ef_search', least(greatest(p_most, 40), 1000)::text, true),
            set_config('hnsw.max_scan_tuples', (10 * p_most)::text, true),
            set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true);
        -- The conditions and the cast are written as the index has them.
        return query execute format(
            '%1$s from %7$I i %2$s where i.collection_id = %3$L and i.model = %4$L %5$s
            order by i.embedding::halfvec(%6$s) <=> $2::halfvec(%6$s) limit $3',
            chosen, document, p_collection, p_model, spoken, dims, passage_part)
        using p_terms, p_embedding, p_most;
        perform set_config('enable_sort', 'on', true), set_config('enable_bitmapscan', 'on', true);
    when 'scan' then
        -- Only places are sorted: the rows are wide.
        return query execute format(
            '%1$s from (
                select i.ctid as place, %2$s as s
                from %7$I i
                where i.collection_id = %3$L and i.document_id in (
                    select d.id from documents d where d.collection_id = %3$L and %4$s) %5$s
                order by s desc nulls last, i.passage_id limit $3
            ) best join %7$I i on i.ctid = best.place %6$s
            where best.s is not null',
            chosen, cosine, p_collection, magpie_live(p_filter), spoken, document, passage_part)
        using p_terms, p_embedding, p_most;
    when 'documents' then
        return query execute format(
            '%s from unnest($3) f (id) join %I i on i.collection_id = %L and i.document_id = f.id %s where true %s',
            chosen, passage_part, p_collection, document, spoken)
        using p_terms, p_embedding, p_documents;
    when 'named' then
        return query execute format(
            '%s from unnest($3) f (id) join %I i on i.collection_id = %L and i.passage_id = f.id %s where true %s',
            chosen, passage_part, p_collection, document, spoken)
        using p_terms, p_embedding, p_documents;
    else
        raise exception 'there is no such way: %', p_way;
    end case;
end
$$;
-- +goose StatementEnd
