-- +goose Up
-- What searches read: counters for BM25, common words and vector indexes of
-- large collections, and the one function that reads passage_index.

alter index passage_index_lexemes set (gin_pending_list_limit = 1024);

-- Words of all bodies, for BM25's average length.
alter table documents add column index_words bigint not null default 0;
alter table collection_state add column words bigint not null default 0;

-- +goose StatementBegin
create or replace function magpie_documents_deleted() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    update collection_state s
    set change_number = s.change_number + 1,
        documents = s.documents - d.documents,
        passages = s.passages - d.passages,
        bytes = s.bytes - d.bytes,
        words = s.words - d.words
    from (
        select collection_id, count(*) as documents, sum(passage_count) as passages, sum(index_bytes) as bytes,
            sum(index_words) as words
        from gone
        where indexed_at is not null and deleted_at is null and status <> 'DELETED'
        group by collection_id
    ) d
    where s.collection_id = d.collection_id;
    return null;
end
$$;
-- +goose StatementEnd

-- Few documents are in it: searches only ask whether a collection has any.
create index documents_deleted on documents (collection_id) where deleted_at is not null or status = 'DELETED';

-- Settings that every node must share.
create table search_settings (
    only_row       boolean primary key default true check (only_row),
    -- Collections of more passages than this use a vector index once it is built.
    exact_passages integer not null default 20000 check (exact_passages >= 0)
);
insert into search_settings default values;
revoke all on search_settings from magpie_app;
grant select on search_settings to magpie_app;

-- The vector index of a large collection, written once it is valid.
create table vector_indexes (
    collection_id uuid primary key,
    workspace_id  uuid not null,
    index_name    text not null,
    model         text not null,
    dimensions    integer not null,
    passages      bigint not null, -- of the collection when its words were counted
    built_at      timestamptz not null default now(),
    constraint vector_indexes_collection_fk foreign key (workspace_id, collection_id)
        references collections (workspace_id, id) on delete cascade
);
revoke all on vector_indexes from magpie_app;
grant select on vector_indexes to magpie_app;

-- In how many passages the common words of a large collection stand; words
-- that are not listed are rare. They are text, so they are fenced like text.
create table collection_terms (
    collection_id uuid not null,
    workspace_id  uuid not null,
    term          text not null,
    passages      integer not null,
    primary key (collection_id, term),
    constraint collection_terms_collection_fk foreign key (workspace_id, collection_id)
        references collections (workspace_id, id) on delete cascade
);
alter table collection_terms enable row level security;
alter table collection_terms force row level security;
create policy collection_terms_tenant on collection_terms
    using (workspace_id = nullif(current_setting('magpie.workspace', true), '')::uuid)
    with check (workspace_id = nullif(current_setting('magpie.workspace', true), '')::uuid);
revoke all on collection_terms from magpie_app;
grant select on collection_terms to magpie_app;

-- The candidates of one search, in three kinds of rows:
--   leg 0, exactly one: ordinal is how many passages the filters leave;
--   leg 1: the p_pool passages that are most similar to the question, for each
--     collection with a vector index, and for all others together;
--   leg 2: every passage that matches p_query, a query over the lexemes.
-- hits are the passage's lexemes out of p_terms, with their positions.
-- Only collections of p_workspace are looked at, and only while the transaction
-- is set to that workspace. Filters are applied before anything is cut off.
-- Plans are made for the values at hand: a generic one would neither find a
-- collection's vector index nor see how selective a filter is.
-- +goose StatementBegin
create function magpie_candidates(
    p_workspace uuid, p_collections uuid[], p_model text, p_embedding halfvec, p_query tsquery, p_terms text[],
    p_section text, p_version text, p_language text, p_tags text[], p_types text[],
    p_from timestamptz, p_before timestamptz, p_pool integer)
returns table (
    leg smallint, passage_id uuid, document_id uuid, collection_id uuid, ordinal integer,
    title_words integer, heading_words integer, body_words integer, hits tsvector, similarity double precision)
language plpgsql security definer rows 2000
set search_path = pg_catalog, public, pg_temp
set jit = off
set work_mem = '16MB'
set max_parallel_workers_per_gather = 0
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
    reach uuid[];   -- the collections to look at
    near uuid[];    -- those of them whose vectors are scanned
    docs uuid[];    -- the documents to look at; null: all of reach
    owners uuid[];  -- the collections of docs
    exact bigint;
    looked bigint;
    wanted bigint;
    -- A model whose vectors changed their length without changing its name
    -- finds nothing; comparing them would fail.
    dims integer := vector_dims(p_embedding);
    large record;
begin
    if p_workspace is distinct from nullif(current_setting('magpie.workspace', true), '')::uuid then
        raise exception 'the transaction is not set to this workspace' using errcode = 'insufficient_privilege';
    end if;
    select coalesce(array_agg(c.id), '{}') into reach
    from collections c where c.workspace_id = p_workspace and c.id = any (p_collections);
    near := reach;

    if num_nonnulls(p_section, p_version, p_language, p_tags, p_types, p_from, p_before) > 0 or exists (
        select from documents d
        where d.collection_id = any (reach) and (d.deleted_at is not null or d.status = 'DELETED'))
    then
        select coalesce(array_agg(d.id), '{}'), coalesce(array_agg(d.collection_id), '{}'), coalesce(sum(d.passage_count), 0)
        into docs, owners, looked
        from documents d
        where d.collection_id = any (reach) and d.workspace_id = p_workspace
            and d.indexed_at is not null and d.deleted_at is null and d.status <> 'DELETED'
            and (p_section is null or d.section = p_section)
            and (p_version is null or d.version = p_version)
            and (p_language is null or d.language = p_language)
            and (p_tags is null or d.tags ?| p_tags)
            and (p_types is null or d.doc_type = any (p_types))
            and (p_from is null or coalesce(d.source_updated_at, d.source_created_at) >= p_from)
            and (p_before is null or coalesce(d.source_updated_at, d.source_created_at) < p_before);
    else
        select coalesce(sum(s.passages), 0) into looked from collection_state s where s.collection_id = any (reach);
    end if;
    return query select 0::smallint, null::uuid, null::uuid, null::uuid, looked::integer, 0, 0, 0, null::tsvector,
        null::double precision;

    if p_embedding is not null then
        select exact_passages into exact from search_settings;
        for large in
            select v.collection_id as id, v.dimensions as length, s.passages
            from vector_indexes v join collection_state s on s.collection_id = v.collection_id
            where v.collection_id = any (reach) and v.model = p_model
                and v.dimensions = dims and s.passages > exact
        loop
            if docs is not null then
                select coalesce(sum(d.passage_count), 0) into wanted
                from documents d where d.id = any (docs) and d.collection_id = large.id;
                -- The index would be walked for long to find few.
                continue when wanted <= exact or wanted < large.passages / 20 and wanted <= 5 * exact;
            end if;
            near := array_remove(near, large.id);
            perform set_config('hnsw.iterative_scan', 'relaxed_order', true),
                set_config('hnsw.ef_search', '400', true),
                set_config('hnsw.max_scan_tuples', '40000', true);
            -- The conditions and the cast are written as the index has them.
            return query execute format(
                'select 1::smallint, i.passage_id, i.document_id, i.collection_id, i.ordinal,
                    i.title_words, i.heading_words, i.body_words, ts_filter(setweight(i.lexemes, ''C'', $2), ''{c}''),
                    -(i.embedding <#> $1)
                from passage_index i
                where i.collection_id = %1$L and i.model = %2$L %4$s
                order by i.embedding::halfvec(%3$s) <=> $1::halfvec(%3$s)
                limit $3', large.id, p_model, large.length,
                case when docs is null then '' else 'and coalesce(i.document_id in (select unnest($4)), false)' end)
            using p_embedding, p_terms, p_pool, docs;
        end loop;
    end if;

    -- Only ids are sorted: the rows are wide.
    if p_embedding is not null and near <> '{}' and docs is null then
        return query
        select 1::smallint, i.passage_id, i.document_id, i.collection_id, i.ordinal,
            i.title_words, i.heading_words, i.body_words, ts_filter(setweight(i.lexemes, 'C', p_terms), '{c}'), best.s
        from (
            select n.passage_id, case when vector_dims(n.embedding) = dims then -(n.embedding <#> p_embedding) end as s
            from passage_index n
            where n.collection_id = any (near) and n.model = p_model
            order by s desc nulls last, n.passage_id limit p_pool
        ) best
        join passage_index i on i.passage_id = best.passage_id
        where best.s is not null;
    elsif p_embedding is not null and near <> '{}' then
        return query
        select 1::smallint, i.passage_id, i.document_id, i.collection_id, i.ordinal,
            i.title_words, i.heading_words, i.body_words, ts_filter(setweight(i.lexemes, 'C', p_terms), '{c}'), best.s
        from (
            select n.passage_id, case when vector_dims(n.embedding) = dims then -(n.embedding <#> p_embedding) end as s
            from unnest(docs, owners) f (document, collection)
            join passage_index n on n.collection_id = f.collection and n.document_id = f.document
            where f.collection = any (near) and n.model = p_model
            order by s desc nulls last, n.passage_id limit p_pool
        ) best
        join passage_index i on i.passage_id = best.passage_id
        where best.s is not null;
    end if;

    if p_query is not null and looked <= 4000 and docs is not null then
        return query
        select 2::smallint, i.passage_id, i.document_id, i.collection_id, i.ordinal,
            i.title_words, i.heading_words, i.body_words, ts_filter(setweight(i.lexemes, 'C', p_terms), '{c}'),
            case when i.model = p_model and vector_dims(i.embedding) = dims then -(i.embedding <#> p_embedding) end
        from unnest(docs, owners) f (document, collection)
        join passage_index i on i.collection_id = f.collection and i.document_id = f.document
        where i.lexemes @@ p_query;
    elsif p_query is not null then
        -- The planner takes looking a row's lexemes up for as cheap as a
        -- comparison and would rather look into every row than use their index.
        perform set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'off', true);
        return query
        select 2::smallint, i.passage_id, i.document_id, i.collection_id, i.ordinal,
            i.title_words, i.heading_words, i.body_words, ts_filter(setweight(i.lexemes, 'C', p_terms), '{c}'),
            case when i.model = p_model and vector_dims(i.embedding) = dims then -(i.embedding <#> p_embedding) end
        from passage_index i
        where i.lexemes @@ p_query and i.collection_id = any (reach)
            -- Not a join: its hash table would be made of the wide rows.
            and (docs is null or coalesce(i.document_id in (select unnest(docs)), false));
        perform set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'on', true);
    end if;
end
$$;
-- +goose StatementEnd

revoke all on function magpie_candidates from public;
grant execute on function magpie_candidates to magpie_app;
