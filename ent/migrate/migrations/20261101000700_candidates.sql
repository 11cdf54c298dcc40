-- +goose Up
-- What the PostgreSQL tier of the search reads (internal/search/postgres). The
-- functions run as the owner, because the application may not read
-- passage_index; each of them looks only at one collection of the workspace
-- that the transaction is set to, and applies the filter before anything is cut
-- off. Statements are written out with their values: a plan that is made for
-- any value would neither find a collection's vector index nor leave out the
-- conditions that a filter does not have.

-- Completions look words up by how they begin.
create index collection_terms_prefix on collection_terms (collection_id, term collate "C");

-- magpie_reach refuses a workspace that the transaction is not set to, and says
-- whether the collection is one of its collections.
-- +goose StatementBegin
create function magpie_reach(p_workspace uuid, p_collection uuid) returns boolean
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
begin
    if p_workspace is distinct from nullif(current_setting('magpie.workspace', true), '')::uuid then
        raise exception 'the transaction is not set to this workspace' using errcode = 'insufficient_privilege';
    end if;
    return exists (select from collections c where c.id = p_collection and c.workspace_id = p_workspace);
end
$$;
-- +goose StatementEnd

-- magpie_live writes the condition under which a document (alias d) may be
-- found. A member of the filter that is missing does not filter. Readers are
-- principals, of whom one must be among the document's unless it has no list.
-- +goose StatementBegin
create function magpie_live(p_filter jsonb) returns text
language sql stable set search_path = pg_catalog, public, pg_temp as $$
    select 'd.indexed_at is not null and d.deleted_at is null and d.status <> ''DELETED'''
        || case when p_filter ? 'section' then format(' and d.section = %L', p_filter->>'section') else '' end
        || case when p_filter ? 'version' then format(' and d.version = %L', p_filter->>'version') else '' end
        || case when p_filter ? 'language' then format(' and d.language = %L', p_filter->>'language') else '' end
        || case when p_filter ? 'tags' then
            format(' and d.tags ?| %L::text[]', array(select jsonb_array_elements_text(p_filter->'tags'))) else '' end
        || case when p_filter ? 'types' then
            format(' and d.doc_type = any (%L::text[])', array(select jsonb_array_elements_text(p_filter->'types'))) else '' end
        || case when p_filter ? 'documents' then
            format(' and d.id = any (%L::uuid[])', array(select jsonb_array_elements_text(p_filter->'documents'))) else '' end
        || case when p_filter ? 'from' then format(' and coalesce(d.source_updated_at, d.source_created_at) >= %L::timestamptz', p_filter->>'from') else '' end
        || case when p_filter ? 'until' then format(' and coalesce(d.source_updated_at, d.source_created_at) < %L::timestamptz', p_filter->>'until') else '' end
        || case when p_filter ? 'readers' then
            format(' and (d.readers is null or d.readers && %L::text[])', array(select jsonb_array_elements_text(p_filter->'readers'))) else '' end
$$;
-- +goose StatementEnd

-- magpie_spoken writes the condition that a filter has for the words of a
-- passage (alias i), with an "and" before it.
-- +goose StatementBegin
create function magpie_spoken(p_filter jsonb) returns text
language sql immutable set search_path = pg_catalog, public, pg_temp as $$
    select case when p_filter ? 'phrases' then format(' and i.lexemes @@ %L::tsquery', p_filter->>'phrases') else '' end
        || case when p_filter ? 'excluded' then format(' and not i.lexemes @@ %L::tsquery', p_filter->>'excluded') else '' end
$$;
-- +goose StatementEnd

-- magpie_passages are the passages of one collection that the filter leaves, by
-- one of these ways:
--   'words': up to p_most of those that match p_query, a query over lexemes;
--   'near': the p_most that are most similar to p_embedding, by the vector index;
--   'scan': the same by looking at every vector, and exact;
--   'places': those that stand at p_places, which an answer in the same
--     transaction has told;
--   'documents': all of p_documents.
-- hits are the passage's lexemes out of p_terms with their positions; similarity
-- is null without a vector of p_model of p_embedding's length.
-- +goose StatementBegin
create function magpie_passages(
    p_workspace uuid, p_collection uuid, p_filter jsonb, p_terms text[], p_model text, p_embedding halfvec,
    p_way text, p_query tsquery, p_places tid[], p_documents uuid[], p_most integer)
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
begin
    if not magpie_reach(p_workspace, p_collection) then
        return;
    end if;
    case p_way
    when 'words' then
        -- The planner takes looking a row's lexemes up for as cheap as a
        -- comparison; the condition on the collection is written so that no
        -- index but that of the lexemes serves.
        return query execute format(
            '%s from passage_index i %s where i.lexemes @@ $3 and coalesce(i.collection_id = %L, false) %s limit $4',
            chosen, document, p_collection, spoken)
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
    when 'places' then
        return query execute format(
            '%s from passage_index i %s where i.ctid = any ($3) and i.collection_id = %L %s',
            chosen, document, p_collection, spoken)
        using p_terms, p_embedding, p_places;
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

-- magpie_filtered counts what a filter leaves of a collection, and names the
-- documents when their passages are no more than p_most.
-- +goose StatementBegin
create function magpie_filtered(p_workspace uuid, p_collection uuid, p_filter jsonb, p_most integer)
returns table (passages bigint, documents uuid[])
language plpgsql stable security definer rows 1
set search_path = pg_catalog, public, pg_temp
set max_parallel_workers_per_gather = 0
as $$
begin
    if not magpie_reach(p_workspace, p_collection) then
        return;
    end if;
    return query execute format(
        'select coalesce(sum(d.passage_count), 0)::bigint,
            case when coalesce(sum(d.passage_count), 0) <= $1 then coalesce(array_agg(d.id), ''{}'') end
        from documents d where d.collection_id = %L and %s', p_collection, magpie_live(p_filter))
    using p_most;
end
$$;
-- +goose StatementEnd

-- magpie_frequencies counts for each term the live passages that its query over
-- lexemes finds, up to p_most of them. The queries name the collection by the
-- lexeme that all of its passages have, so that the index alone may count.
-- +goose StatementBegin
create function magpie_frequencies(p_workspace uuid, p_collection uuid, p_terms text[], p_queries text[], p_most integer)
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
    return query execute format(
        'select t.word, (select count(*) from (
            select from passage_index i where i.lexemes @@ t.query and coalesce(i.collection_id = %L, false) %s limit $3) found)
        from (select word, query::tsquery from unnest($1, $2) u (word, query) offset 0) t', p_collection, gone)
    using p_terms, p_queries, p_most;
end
$$;
-- +goose StatementEnd

-- magpie_lexemes are the whole lexemes of passages at the places that an answer
-- in the same transaction has told.
-- +goose StatementBegin
create function magpie_lexemes(p_workspace uuid, p_collection uuid, p_places tid[])
returns table (place tid, lexemes tsvector)
language plpgsql stable security definer rows 10
set search_path = pg_catalog, public, pg_temp
as $$
begin
    if not magpie_reach(p_workspace, p_collection) then
        return;
    end if;
    return query select i.ctid, i.lexemes from passage_index i
        where i.ctid = any (p_places) and i.collection_id = p_collection;
end
$$;
-- +goose StatementEnd

-- magpie_embeddings are the vectors of passages at such places, by one model.
-- +goose StatementBegin
create function magpie_embeddings(p_workspace uuid, p_collection uuid, p_model text, p_places tid[])
returns table (place tid, embedding halfvec)
language plpgsql stable security definer rows 10
set search_path = pg_catalog, public, pg_temp
as $$
begin
    if not magpie_reach(p_workspace, p_collection) then
        return;
    end if;
    return query select i.ctid, case when i.model = p_model then i.embedding
            else (select v.embedding from passage_vectors v where v.passage_id = i.passage_id and v.model = p_model) end
        from passage_index i where i.ctid = any (p_places) and i.collection_id = p_collection;
end
$$;
-- +goose StatementEnd

-- magpie_vectors are vectors of up to p_most passages of one model, spread over
-- the collection's documents: always the same ones for the same documents. The
-- lower half of an id is random.
-- +goose StatementBegin
create function magpie_vectors(p_workspace uuid, p_collection uuid, p_model text, p_most integer)
returns setof halfvec
language plpgsql stable security definer rows 256
set search_path = pg_catalog, public, pg_temp
set max_parallel_workers_per_gather = 0
as $$
begin
    if not magpie_reach(p_workspace, p_collection) then
        return;
    end if;
    return query
    with chosen as materialized (
        select d.id from documents d
        where d.collection_id = p_collection and d.indexed_at is not null and d.deleted_at is null and d.status <> 'DELETED'
            and d.passage_count > 0
        order by substr(uuid_send(d.id), 9), d.id limit p_most
    )
    select p.vector
    from chosen c cross join lateral (
        select coalesce(
                case when i.model = p_model then i.embedding end,
                (select v.embedding from passage_vectors v where v.passage_id = i.passage_id and v.model = p_model)) as vector,
            substr(uuid_send(i.passage_id), 9) as mark, row_number() over (order by substr(uuid_send(i.passage_id), 9)) as n
        from passage_index i where i.collection_id = p_collection and i.document_id = c.id
    ) p
    where p.vector is not null
    order by p.n, p.mark limit p_most;
end
$$;
-- +goose StatementEnd

-- magpie_complete counts the words that begin with a prefix in up to p_most
-- passages that the filter leaves: with p_all out of all passages of the
-- collection, else out of those that have such a word.
-- +goose StatementBegin
create function magpie_complete(
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
        -- Either the documents or the index of lexemes come first, as "offset" makes sure.
        case when p_all then format(
            'select i.lexemes from documents d cross join lateral (
                select i.lexemes from passage_index i where i.collection_id = %1$L and i.document_id = d.id %3$s offset 0) i
            where d.collection_id = %1$L and %2$s', p_collection, magpie_live(p_filter), magpie_spoken(p_filter))
        else format(
            'select i.lexemes from passage_index i cross join lateral (
                select from documents d where d.id = i.document_id and %2$s offset 0) d
            where i.lexemes @@ $1 and coalesce(i.collection_id = %1$L, false) %3$s',
            p_collection, magpie_live(p_filter), magpie_spoken(p_filter)) end)
    using p_query, p_prefix, p_most, p_limit;
end
$$;
-- +goose StatementEnd

-- magpie_facets counts the documents that the filter leaves, or those of
-- p_documents, by the values of their fields, numbered as internal/search/rank
-- has them.
-- +goose StatementBegin
create function magpie_facets(p_workspace uuid, p_collection uuid, p_filter jsonb, p_documents uuid[])
returns table (facet integer, value text, documents bigint)
language plpgsql stable security definer rows 100
set search_path = pg_catalog, public, pg_temp
set jit = off
set max_parallel_workers_per_gather = 0
as $$
declare
    spoken text := magpie_spoken(p_filter);
begin
    if not magpie_reach(p_workspace, p_collection) then
        return;
    end if;
    return query execute format(
        'with d as materialized (
            select d.section, d.version, d.language, d.doc_type, d.tags from documents d
            where d.collection_id = %1$L and %2$s %3$s %4$s
        )
        select 0, d.section::text, count(*) from d where d.section <> '''' group by 2
        union all select 1, d.version::text, count(*) from d where d.version <> '''' group by 2
        union all select 2, d.language::text, count(*) from d where d.language <> '''' group by 2
        union all select 3, d.doc_type::text, count(*) from d where d.doc_type <> '''' group by 2
        union all select 4, t.tag, count(*) from d
            cross join lateral (select distinct tag from jsonb_array_elements_text(d.tags) tag where jsonb_typeof(d.tags) = ''array'') t
            where t.tag <> '''' group by 2',
        p_collection, magpie_live(p_filter),
        case when p_documents is null then '' else 'and d.id = any ($1)' end,
        -- Given documents are of passages that the words of the filter leave.
        case when p_documents is not null or spoken = '' then '' else format(
            'and d.id in (select i.document_id from passage_index i where i.collection_id = %L %s)', p_collection, spoken) end)
    using p_documents;
end
$$;
-- +goose StatementEnd

revoke all on function magpie_reach, magpie_live, magpie_spoken, magpie_passages, magpie_filtered, magpie_frequencies,
    magpie_lexemes, magpie_embeddings, magpie_vectors, magpie_complete, magpie_facets from public;
grant execute on function magpie_passages, magpie_filtered, magpie_frequencies, magpie_lexemes, magpie_embeddings,
    magpie_vectors, magpie_complete, magpie_facets to magpie_app;

-- Nothing asks it any more.
drop function magpie_candidates(uuid, uuid[], text, halfvec, tsquery, text[], text, text, text, text[], text[], timestamptz, timestamptz, integer);
