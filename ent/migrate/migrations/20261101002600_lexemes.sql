-- +goose Up
-- Each large collection has an index of its lexemes of its own, made when it has
-- grown large (internal/index): what is stored in the many small ones is not
-- indexed word by word, and a large one is looked up without the rows of others.
drop index passage_index_lexemes;

-- A row says that both indexes of a collection are there, and its words counted.
alter table vector_indexes rename to search_indexes;
alter table search_indexes drop column index_name;
alter index vector_indexes_pkey rename to search_indexes_pkey;
alter table search_indexes rename constraint vector_indexes_collection_fk to search_indexes_collection_fk;
delete from search_indexes; -- their lexemes are not indexed yet

-- A search that looks at all of 19,000 passages took 120 ms, by indexes 16 ms.
alter table search_settings alter column exact_passages set default 5000;
update search_settings set exact_passages = 5000 where exact_passages = 20000;

-- Until PostgreSQL has statistics of a table it takes the newest of the indexes
-- that serve a look-up at all. That must be the one by the source's id, or each
-- document of a first sync is looked for among all the connector has.
drop index document_connector_id_source_id;
create unique index document_connector_id_source_id on documents (connector_id, source_id);
drop index syncitem_connector_id_source_id;
create unique index syncitem_connector_id_source_id on sync_items (connector_id, source_id);

-- magpie_own writes the condition that a passage (alias i) is of the collection,
-- for a look-up by lexemes. The planner takes looking a row's lexemes up for as
-- cheap as a comparison. So where the collection has an index of them, the
-- condition is written as that index has it, which no other serves.
-- +goose StatementBegin
create function magpie_own(p_collection uuid) returns text
language sql stable set search_path = pg_catalog, public, pg_temp as $$
    select format(case when exists (select from search_indexes x where x.collection_id = p_collection)
        then 'coalesce(i.collection_id = %L, false)' else 'i.collection_id = %L' end, p_collection)
$$;
-- +goose StatementEnd

-- magpie_passages are the passages of one collection that the filter leaves, by
-- one of these ways:
--   'words': up to p_most of those that match p_query, a query over lexemes;
--   'near': the p_most that are most similar to p_embedding, by the vector index;
--   'scan': the same by looking at every vector, and exact;
--   'documents': all of p_documents.
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
    dims integer := vector_dims(p_embedding);
    cosine text := case when dims is null then 'null::double precision' else format(
        'case when i.model = %1$L and vector_dims(i.embedding) = %2$s then -(i.embedding <#> $2)
            else (select -(v.embedding <#> $2) from passage_vectors v
                where v.passage_id = i.passage_id and v.model = %1$L and vector_dims(v.embedding) = %2$s) end', p_model, dims) end;
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
            '%s from passage_index i %s where i.lexemes @@ $3 and %s %s limit $4', chosen, document, own, spoken)
        using p_terms, p_embedding, p_query, p_most;
    when 'near' then
        perform set_config('hnsw.iterative_scan', 'relaxed_order', true),
            set_config('hnsw.ef_search', least(greatest(p_most, 40), 1000)::text, true),
            set_config('hnsw.max_scan_tuples', (10 * p_most)::text, true),
            set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true);
        -- The conditions and the cast are written as the index has them.
        return query execute format(
            '%1$s from passage_index i %2$s where i.collection_id = %3$L and i.model = %4$L %5$s
            order by i.embedding::halfvec(%6$s) <=> $2::halfvec(%6$s) limit $3',
            chosen, document, p_collection, p_model, spoken, dims)
        using p_terms, p_embedding, p_most;
        perform set_config('enable_sort', 'on', true), set_config('enable_bitmapscan', 'on', true);
    when 'scan' then
        -- Only places are sorted: the rows are wide.
        return query execute format(
            '%1$s from (
                select i.ctid as place, %2$s as s
                from passage_index i
                where i.collection_id = %3$L and i.document_id in (
                    select d.id from documents d where d.collection_id = %3$L and %4$s) %5$s
                order by s desc nulls last, i.passage_id limit $3
            ) best join passage_index i on i.ctid = best.place %6$s
            where best.s is not null',
            chosen, cosine, p_collection, magpie_live(p_filter), spoken, document)
        using p_terms, p_embedding, p_most;
    when 'documents' then
        return query execute format(
            '%s from unnest($3) f (id) join passage_index i on i.collection_id = %L and i.document_id = f.id %s where true %s',
            chosen, p_collection, document, spoken)
        using p_terms, p_embedding, p_documents;
    else
        raise exception 'there is no such way: %', p_way;
    end case;
end
$$;
-- +goose StatementEnd

-- magpie_frequencies counts for each term the live passages that its query over
-- lexemes finds, up to p_most of them: one look-up a term where the collection's
-- lexemes are indexed, else all terms while its passages are looked at once.
-- +goose StatementBegin
create or replace function magpie_frequencies(p_workspace uuid, p_collection uuid, p_terms text[], p_queries text[], p_most integer)
returns table (term text, passages bigint)
language plpgsql security definer rows 10
set search_path = pg_catalog, public, pg_temp
set jit = off
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
    gone text := '';
begin
    if not magpie_reach(p_workspace, p_collection) then
        return;
    end if;
    if exists (select from documents d where d.collection_id = p_collection and (d.deleted_at is not null or d.status = 'DELETED')) then
        gone := format(' and coalesce(i.document_id not in (
            select d.id from documents d where d.collection_id = %L and (d.deleted_at is not null or d.status = ''DELETED'')), true)', p_collection);
    end if;
    if exists (select from search_indexes x where x.collection_id = p_collection) then
        return query execute format(
            'select t.word, (select count(*) from (
                select from passage_index i where i.lexemes @@ t.query and %s %s limit $3) found)
            from (select word, query::tsquery from unnest($1, $2) u (word, query) offset 0) t', magpie_own(p_collection), gone)
        using p_terms, p_queries, p_most;
    else
        return query execute format(
            'select t.word, least(count(*), $3) from passage_index i
            cross join lateral (select u.word, u.n from unnest($1, $2) with ordinality u (word, query, n) where i.lexemes @@ u.query offset 0) t
            where %s %s group by t.n, t.word', magpie_own(p_collection), gone)
        using p_terms, p_queries::tsquery[], p_most;
    end if;
end
$$;
-- +goose StatementEnd

-- magpie_complete counts the words that begin with a prefix in up to p_most
-- passages that the filter leaves: with p_all out of all passages of the
-- collection, else out of those that have such a word.
-- +goose StatementBegin
create or replace function magpie_complete(
    p_workspace uuid, p_collection uuid, p_filter jsonb, p_query tsquery, p_prefix text, p_all boolean, p_most integer, p_limit integer)
returns table (term text, passages bigint)
language plpgsql security definer rows 10
set search_path = pg_catalog, public, pg_temp
set jit = off
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
begin
    if not magpie_reach(p_workspace, p_collection) then
        return;
    end if;
    return query execute format(
        'select w.word, count(*) from (%s limit $3) i
        cross join lateral (select word from unnest(tsvector_to_array(i.lexemes)) word where starts_with(word, $2)) w
        where i.lexemes @@ $1
        group by w.word order by 2 desc, w.word collate "C" limit $4',
        -- Either the documents or the passages come first, as "offset" makes sure.
        case when p_all then format(
            'select i.lexemes from documents d cross join lateral (
                select i.lexemes from passage_index i where i.collection_id = %1$L and i.document_id = d.id %3$s offset 0) i
            where d.collection_id = %1$L and %2$s', p_collection, magpie_live(p_filter), magpie_spoken(p_filter))
        else format(
            'select i.lexemes from passage_index i cross join lateral (
                select from documents d where d.id = i.document_id and %2$s offset 0) d
            where i.lexemes @@ $1 and %1$s %3$s',
            magpie_own(p_collection), magpie_live(p_filter), magpie_spoken(p_filter)) end)
    using p_query, p_prefix, p_most, p_limit;
end
$$;
-- +goose StatementEnd

revoke all on function magpie_own from public;
