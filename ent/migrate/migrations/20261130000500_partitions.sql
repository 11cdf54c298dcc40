-- +goose Up
-- Passages, what is searched of them, their vectors of a second model and the texts
-- of documents are partitioned by a hash of their collection: 16 partitions each, so
-- that indexes stay small and are vacuumed apart from each other. A collection lies
-- whole in one partition, of the same number in each table. Functions name it, so
-- that planning stays as cheap as with one table, and a row id (ctid) is unique
-- within what they read.
--
-- All rows are copied, in one transaction: a minute or two for a million passages, with
-- room on the disk for as much as the tables have. Nothing reads or writes meanwhile.

set local maintenance_work_mem = '256MB';
set local statement_timeout = 0;

-- magpie_part is the number of a collection's partition, as PostgreSQL computes it:
-- the hash of the key with the seed of partitions, combined with no other one.
-- +goose StatementBegin
create function magpie_part(p_collection uuid) returns integer
language sql immutable strict parallel safe as $$
    select (((pg_catalog.uuid_hash_extended(p_collection, 8816678312871386365) & 15) + 3) & 15)::integer
$$;
-- +goose StatementEnd
revoke all on function magpie_part from public;
grant execute on function magpie_part to magpie_app;

-- The tables of before, without what keeps its owner from reading them and what
-- has the names of the new ones.
alter table passage_index drop constraint passage_index_passage_fk;
alter table passage_vectors drop constraint passage_vectors_passage_fk;
alter table passages drop constraint passages_document_fk;
alter table document_texts drop constraint document_texts_document_fk;
alter table passages drop constraint passages_pkey, drop constraint passages_document_ordinal;
alter table document_texts drop constraint document_texts_pkey;
alter table passage_index drop constraint passage_index_pkey;
alter table passage_vectors drop constraint passage_vectors_pkey;
drop index passage_index_document;
drop index passage_vectors_model;
alter table passages no force row level security;
alter table document_texts no force row level security;
alter table passages rename to passages_whole;
alter table document_texts rename to document_texts_whole;
alter table passage_index rename to passage_index_whole;
alter table passage_vectors rename to passage_vectors_whole;

create table document_texts (
    document_id   uuid not null,
    collection_id uuid not null,
    workspace_id  uuid not null,
    body          text not null,
    summary       text
) partition by hash (collection_id);

create table passages (
    id            uuid not null,
    document_id   uuid not null,
    collection_id uuid not null,
    workspace_id  uuid not null,
    ordinal       integer not null,
    headings      text[] not null,
    body          text not null,
    anchor        text not null,
    page          integer not null,
    start_byte    integer not null,
    end_byte      integer not null,
    sections      jsonb
) partition by hash (collection_id);

create table passage_index (
    passage_id    uuid not null,
    document_id   uuid not null,
    collection_id uuid not null,
    workspace_id  uuid not null,
    ordinal       integer not null,
    title_words   integer not null,
    heading_words integer not null,
    path_words    integer not null,
    body_words    integer not null,
    lexemes       tsvector not null,
    model         text not null,
    embedding     halfvec not null
) partition by hash (collection_id);

create table passage_vectors (
    passage_id    uuid not null,
    document_id   uuid not null,
    collection_id uuid not null,
    workspace_id  uuid not null,
    model         text not null,
    embedding     halfvec not null
) partition by hash (collection_id);

-- Nobody but the owner names a partition.
-- +goose StatementBegin
do $$
declare
    part text;
begin
    for n in 0..15 loop
        foreach part in array array['document_texts', 'passages', 'passage_index', 'passage_vectors'] loop
            execute format('create table %1$I partition of %2$I for values with (modulus 16, remainder %3$s)', part || '_p' || n, part, n);
            execute format('alter table %I enable row level security', part || '_p' || n);
            execute format('revoke all on %I from magpie_app', part || '_p' || n);
        end loop;
        -- Rows stay whole: detoasting every row that a scan looks at costs more than the wider row.
        execute format('alter table %I set (toast_tuple_target = 8160)', 'passage_index_p' || n);
        execute format('alter table %I set (toast_tuple_target = 8160)', 'passage_vectors_p' || n);
    end loop;
end
$$;
-- +goose StatementEnd

insert into document_texts (document_id, collection_id, workspace_id, body, summary)
select document_id, collection_id, workspace_id, body, summary from document_texts_whole;
drop table document_texts_whole;
insert into passages (id, document_id, collection_id, workspace_id, ordinal, headings, body, anchor, page, start_byte, end_byte, sections)
select id, document_id, collection_id, workspace_id, ordinal, headings, body, anchor, page, start_byte, end_byte, sections from passages_whole;
drop table passages_whole;
insert into passage_index (passage_id, document_id, collection_id, workspace_id, ordinal, title_words, heading_words, path_words, body_words, lexemes, model, embedding)
select passage_id, document_id, collection_id, workspace_id, ordinal, title_words, heading_words, path_words, body_words, lexemes, model, embedding from passage_index_whole;
drop table passage_index_whole;
insert into passage_vectors (passage_id, document_id, collection_id, workspace_id, model, embedding)
select passage_id, document_id, collection_id, workspace_id, model, embedding from passage_vectors_whole;
drop table passage_vectors_whole;

-- Until PostgreSQL has statistics of a table it takes the newest of the indexes that
-- serve a look-up: the primary keys come last.
create index passage_index_document on passage_index (collection_id, document_id);
create index passage_vectors_model on passage_vectors (collection_id, model, document_id);
alter table passages add constraint passages_document_ordinal unique (document_id, ordinal, collection_id);
alter table document_texts add constraint document_texts_pkey primary key (document_id, collection_id);
alter table passages add constraint passages_pkey primary key (id, document_id, collection_id, workspace_id);
alter table passage_index add constraint passage_index_pkey primary key (passage_id, collection_id);
alter table passage_vectors add constraint passage_vectors_pkey primary key (passage_id, model, collection_id);

-- As the owner, who sees all rows: before row-level security binds him.
alter table document_texts add constraint document_texts_document_fk
    foreign key (document_id, collection_id, workspace_id) references documents (id, collection_id, workspace_id) on delete cascade;
alter table passages add constraint passages_document_fk
    foreign key (document_id, collection_id, workspace_id) references documents (id, collection_id, workspace_id) on delete cascade;
-- Between partitions: a check of a key of a partitioned table would be planned for every row.
-- +goose StatementBegin
do $$
begin
    for n in 0..15 loop
        execute format('alter table passage_index_p%1$s add constraint passage_index_p%1$s_passage_fk
            foreign key (passage_id, document_id, collection_id, workspace_id)
            references passages_p%1$s (id, document_id, collection_id, workspace_id) on delete cascade', n);
        execute format('alter table passage_vectors_p%1$s add constraint passage_vectors_p%1$s_passage_fk
            foreign key (passage_id, document_id, collection_id, workspace_id)
            references passages_p%1$s (id, document_id, collection_id, workspace_id) on delete cascade', n);
    end loop;
end
$$;
-- +goose StatementEnd

-- The fences are those of before.
alter table document_texts enable row level security;
alter table document_texts force row level security;
create policy document_texts_tenant on document_texts
    using (workspace_id = nullif(current_setting('magpie.workspace', true), '')::uuid)
    with check (workspace_id = nullif(current_setting('magpie.workspace', true), '')::uuid);
alter table passages enable row level security;
alter table passages force row level security;
create policy passages_tenant on passages
    using (workspace_id = nullif(current_setting('magpie.workspace', true), '')::uuid)
    with check (workspace_id = nullif(current_setting('magpie.workspace', true), '')::uuid);
grant select, insert, update, delete on document_texts, passages to magpie_app;
alter table passage_index enable row level security;
create policy passage_index_insert on passage_index for insert
    with check (workspace_id = nullif(current_setting('magpie.workspace', true), '')::uuid);
alter table passage_vectors enable row level security;
create policy passage_vectors_insert on passage_vectors for insert
    with check (workspace_id = nullif(current_setting('magpie.workspace', true), '')::uuid);
revoke all on passage_index, passage_vectors from magpie_app;
grant insert on passage_index, passage_vectors to magpie_app;

-- The workers make the search indexes of large collections anew, on their partitions.
delete from search_indexes;

-- The functions that read passages are as before, but for the partition that they name.

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
    else
        raise exception 'there is no such way: %', p_way;
    end case;
end
$$;
-- +goose StatementEnd

-- magpie_hits are the lexemes out of p_terms of passages at places that an answer
-- in the same transaction has told, and their similarity, as magpie_passages has them.
-- +goose StatementBegin
create or replace function magpie_hits(p_workspace uuid, p_collection uuid, p_places tid[], p_terms text[], p_model text, p_embedding halfvec)
returns table (place tid, hits tsvector, similarity double precision)
language plpgsql stable security definer rows 500
set search_path = pg_catalog, public, pg_temp
as $$
declare
    part integer := magpie_part(p_collection);
    dims integer := vector_dims(p_embedding);
begin
    if not magpie_reach(p_workspace, p_collection) then
        return;
    end if;
    return query execute format(
        'select i.ctid, ts_filter(setweight(i.lexemes, ''C'', $1), ''{c}''), %s
        from %I i where i.ctid = any ($4) and i.collection_id = $5',
        case when dims is null then 'null::double precision' else format(
            'case when i.model = $2 and vector_dims(i.embedding) = %1$s then -(i.embedding <#> $3)
                else (select -(v.embedding <#> $3) from %2$I v
                    where v.passage_id = i.passage_id and v.model = $2 and vector_dims(v.embedding) = %1$s) end',
            dims, 'passage_vectors_p' || part) end,
        'passage_index_p' || part)
    using p_terms, p_model, p_embedding, p_places, p_collection;
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
    passage_part text := 'passage_index_p' || magpie_part(p_collection);
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
                select from %I i where i.lexemes @@ t.query and %s %s limit $3) found)
            from (select word, query::tsquery from unnest($1, $2) u (word, query) offset 0) t', passage_part, magpie_own(p_collection), gone)
        using p_terms, p_queries, p_most;
    else
        return query execute format(
            'select t.word, least(count(*), $3) from %I i
            cross join lateral (select u.word, u.n from unnest($1, $2) with ordinality u (word, query, n) where i.lexemes @@ u.query offset 0) t
            where %s %s group by t.n, t.word', passage_part, magpie_own(p_collection), gone)
        using p_terms, p_queries::tsquery[], p_most;
    end if;
end
$$;
-- +goose StatementEnd

-- magpie_lexemes are the whole lexemes of passages at the places that an answer
-- in the same transaction has told.
-- +goose StatementBegin
create or replace function magpie_lexemes(p_workspace uuid, p_collection uuid, p_places tid[])
returns table (place tid, lexemes tsvector)
language plpgsql stable security definer rows 10
set search_path = pg_catalog, public, pg_temp
as $$
begin
    if not magpie_reach(p_workspace, p_collection) then
        return;
    end if;
    return query execute format('select i.ctid, i.lexemes from %I i where i.ctid = any ($1) and i.collection_id = $2',
        'passage_index_p' || magpie_part(p_collection))
    using p_places, p_collection;
end
$$;
-- +goose StatementEnd

-- magpie_embeddings are the vectors of passages at such places, by one model.
-- +goose StatementBegin
create or replace function magpie_embeddings(p_workspace uuid, p_collection uuid, p_model text, p_places tid[])
returns table (place tid, embedding halfvec)
language plpgsql stable security definer rows 10
set search_path = pg_catalog, public, pg_temp
as $$
begin
    if not magpie_reach(p_workspace, p_collection) then
        return;
    end if;
    return query execute format('select i.ctid, case when i.model = $1 then i.embedding
            else (select v.embedding from %I v where v.passage_id = i.passage_id and v.model = $1) end
        from %I i where i.ctid = any ($2) and i.collection_id = $3',
        'passage_vectors_p' || magpie_part(p_collection), 'passage_index_p' || magpie_part(p_collection))
    using p_model, p_places, p_collection;
end
$$;
-- +goose StatementEnd

-- magpie_vectors are vectors of up to p_most passages of one model, spread over
-- the collection's documents: always the same ones for the same documents. The
-- lower half of an id is random.
-- +goose StatementBegin
create or replace function magpie_vectors(p_workspace uuid, p_collection uuid, p_model text, p_most integer)
returns setof halfvec
language plpgsql stable security definer rows 256
set search_path = pg_catalog, public, pg_temp
set max_parallel_workers_per_gather = 0
as $$
begin
    if not magpie_reach(p_workspace, p_collection) then
        return;
    end if;
    return query execute format('
    with chosen as materialized (
        select d.id from documents d
        where d.collection_id = $1 and d.indexed_at is not null and d.deleted_at is null and d.status <> ''DELETED''
            and d.passage_count > 0
        order by substr(uuid_send(d.id), 9), d.id limit $3
    )
    select p.vector
    from chosen c cross join lateral (
        select coalesce(
                case when i.model = $2 then i.embedding end,
                (select v.embedding from %I v where v.passage_id = i.passage_id and v.model = $2)) as vector,
            substr(uuid_send(i.passage_id), 9) as mark, row_number() over (order by substr(uuid_send(i.passage_id), 9)) as n
        from %I i where i.collection_id = $1 and i.document_id = c.id
    ) p
    where p.vector is not null
    order by p.n, p.mark limit $3',
        'passage_vectors_p' || magpie_part(p_collection), 'passage_index_p' || magpie_part(p_collection))
    using p_collection, p_model, p_most;
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
declare
    passage_part text := 'passage_index_p' || magpie_part(p_collection);
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
                select i.lexemes from %4$I i where i.collection_id = %1$L and i.document_id = d.id %3$s offset 0) i
            where d.collection_id = %1$L and %2$s', p_collection, magpie_live(p_filter), magpie_spoken(p_filter), passage_part)
        else format(
            'select i.lexemes from %4$I i cross join lateral (
                select from documents d where d.id = i.document_id and %2$s offset 0) d
            where i.lexemes @@ $1 and %1$s %3$s',
            magpie_own(p_collection), magpie_live(p_filter), magpie_spoken(p_filter), passage_part) end)
    using p_query, p_prefix, p_most, p_limit;
end
$$;
-- +goose StatementEnd

-- magpie_facets counts the documents that the filter leaves, or those of
-- p_documents among them, by the values of the fields in p_facets, numbered as
-- internal/search/rank has them: a document without a value counts for ''.
-- Facet -1 is all of them. Facet 7 counts by time: the value is the place of a
-- range, from p_from (inclusive) to p_until (exclusive), null being no bound; and
-- facet 8 those without a time. Documents without a passage cannot be found, and
-- do not count.
-- +goose StatementBegin
create or replace function magpie_facets(
    p_workspace uuid, p_collection uuid, p_filter jsonb, p_documents uuid[], p_facets integer[],
    p_from timestamptz[], p_until timestamptz[])
returns table (facet integer, value text, documents bigint)
language plpgsql stable security definer rows 100
set search_path = pg_catalog, public, pg_temp
set jit = off
set max_parallel_workers_per_gather = 0
as $$
declare
    spoken text := magpie_spoken(p_filter);
    fields text[] := array['section', 'version', 'language', 'doc_type', 'source', 'connector'];
    counts text := 'select -1, '''', count(*) from d';
    asked integer;
begin
    if not magpie_reach(p_workspace, p_collection) then
        return;
    end if;
    foreach asked in array p_facets loop
        if asked between 0 and 5 then
            counts := counts || format(' union all select %s, coalesce(d.%I, ''''), count(*) from d group by 2', asked, fields[asked + 1]);
        elsif asked = 6 then
            counts := counts || ' union all select 6, coalesce(t.tag, ''''), count(*) from d left join lateral (
                select distinct tag
                from jsonb_array_elements_text(case when jsonb_typeof(d.tags) = ''array'' then d.tags else ''[]'' end) tag
                where tag <> '''') t on true group by 2';
        end if;
    end loop;
    if cardinality(p_from) > 0 then
        counts := counts || ' union all select 7, r.at::text, (
                select count(*) from d
                where d.changed is not null and (r.early is null or d.changed >= r.early) and (r.late is null or d.changed < r.late))
            from unnest($2, $3) with ordinality r (early, late, at)
            union all select 8, '''', count(*) from d where d.changed is null';
    end if;
    return query execute format(
        'with d as materialized (
            select d.section::text, d.version::text, d.language::text, d.doc_type::text, d.connector_id::text as connector, d.tags,
                (select k.type::text from connectors k where k.id = d.connector_id) as source,
                coalesce(d.source_updated_at, d.source_created_at) as changed
            from documents d
            where d.collection_id = %1$L and d.passage_count > 0 and %2$s %3$s %4$s
        ) %5$s',
        p_collection, magpie_live(p_filter),
        case when p_documents is null then '' else 'and d.id = any ($1)' end,
        -- Given documents are of passages that the words of the filter leave.
        case when p_documents is not null or spoken = '' then '' else format(
            'and d.id in (select i.document_id from %I i where i.collection_id = %L %s)',
            'passage_index_p' || magpie_part(p_collection), p_collection, spoken) end,
        counts)
    using p_documents, p_from, p_until;
end
$$;
-- +goose StatementEnd

-- magpie_changes_p0 to magpie_changes_p15 tell what changed in a collection of that
-- partition. As before: the documents that changed after p_after, or with null every one that searches can find,
-- ordered by id; a row a passage, the last eight columns null for a document without any.
-- Call them in a select list: there they give their rows one by one, which only functions in SQL do.
drop function magpie_changes(uuid, uuid, text, bigint, boolean);
-- +goose StatementBegin
do $do$
begin
    for n in 0..15 loop
        execute format($function$
            create function magpie_changes_p%1$s(p_workspace uuid, p_collection uuid, p_model text, p_after bigint, p_apart boolean)
            returns table (
                document_id uuid, live boolean, section text, version text, language text, doc_type text, tags jsonb,
                changed timestamptz, readers text[], source text, connector_id uuid,
                passage_id uuid, ordinal integer, title_words integer, heading_words integer, path_words integer, body_words integer,
                lexemes tsvector, embedding halfvec)
            language sql stable security definer rows 100000
            set search_path = pg_catalog, public, pg_temp
            as $body$
                select d.id, d.live, d.section, d.version, d.language, d.doc_type, d.tags, d.changed, d.readers, d.source, d.connector_id,
                    p.passage_id, p.ordinal, p.title_words, p.heading_words, p.path_words, p.body_words, p.lexemes, p.embedding
                from (
                    (
                        select a.id, true as live, a.section, a.version, a.language, a.doc_type, a.tags,
                            coalesce(a.source_updated_at, a.source_created_at) as changed, magpie_readers(a.readers, a.restricted_to) as readers,
                            (select k.type from connectors k where k.id = a.connector_id) as source, a.connector_id
                        from documents a
                        where p_after is null and p_workspace = nullif(current_setting('magpie.workspace', true), '')::uuid
                            and a.collection_id = p_collection and a.workspace_id = p_workspace
                            and a.indexed_at is not null and a.deleted_at is null and a.status <> 'DELETED'
                        order by a.id
                    )
                    union all
                    (
                        select x.document_id, b.id is not null, b.section, b.version, b.language, b.doc_type, b.tags,
                            coalesce(b.source_updated_at, b.source_created_at), magpie_readers(b.readers, b.restricted_to),
                            (select k.type from connectors k where k.id = b.connector_id), b.connector_id
                        from (
                            select c.document_id from document_changes c
                            where p_after is not null and p_workspace = nullif(current_setting('magpie.workspace', true), '')::uuid
                                and c.collection_id = p_collection and c.workspace_id = p_workspace and c.change_number > p_after
                            order by c.change_number
                            offset 0
                        ) x
                        -- A look-up a document: few documents changed, whatever the planner expects.
                        left join lateral (
                            select * from documents e
                            where e.id = x.document_id and e.collection_id = p_collection and e.workspace_id = p_workspace
                                and e.indexed_at is not null and e.deleted_at is null and e.status <> 'DELETED'
                            offset 0
                        ) b on true
                        order by x.document_id
                    )
                ) d
                left join lateral (
                    select i.passage_id, i.ordinal, i.title_words, i.heading_words, i.path_words, i.body_words, i.lexemes,
                        case when i.model = p_model then i.embedding else v.embedding end as embedding
                    from passage_index_p%1$s i
                    left join passage_vectors_p%1$s v on p_apart and v.passage_id = i.passage_id and v.model = p_model
                    where d.live and i.collection_id = p_collection and i.document_id = d.id
                    offset 0
                ) p on true;
            $body$
        $function$, n);
        execute format('revoke all on function magpie_changes_p%s from public', n);
        execute format('grant execute on function magpie_changes_p%s to magpie_app', n);
    end loop;
end
$do$;
-- +goose StatementEnd

-- Passages without a vector of a model, whether their document is deleted or
-- not, in the order of their documents from p_from on; with p_after those of
-- documents that changed after it only.
-- +goose StatementBegin
create or replace function magpie_lacking(p_workspace uuid, p_collection uuid, p_model text, p_after bigint, p_from uuid, p_limit integer)
returns table (passage_id uuid, document_id uuid)
language plpgsql stable security definer rows 200
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    passage_part text := 'passage_index_p' || magpie_part(p_collection);
    vector_part text := 'passage_vectors_p' || magpie_part(p_collection);
begin
    perform magpie_only(p_workspace);
    if p_after is null then
        return query execute format('
            select i.passage_id, i.document_id from %I i
            where i.collection_id = $1 and i.workspace_id = $2 and i.document_id >= $3 and i.model <> $4
                and not exists (select from %I v where v.passage_id = i.passage_id and v.model = $4)
            order by i.document_id limit $5', passage_part, vector_part)
        using p_collection, p_workspace, p_from, p_model, p_limit;
    else
        return query execute format('
            select i.passage_id, i.document_id
            from document_changes c join %I i on i.collection_id = c.collection_id and i.document_id = c.document_id
            where c.collection_id = $1 and c.workspace_id = $2 and c.change_number > $6
                and c.document_id >= $3 and i.model <> $4
                and not exists (select from %I v where v.passage_id = i.passage_id and v.model = $4)
            order by c.document_id limit $5', passage_part, vector_part)
        using p_collection, p_workspace, p_from, p_model, p_limit, p_after;
    end if;
end
$$;
-- +goose StatementEnd

-- Whether a document that changed after p_after has a passage without a vector
-- of a model; with p_whole one in passage_index, and then nothing of the model
-- may stand in passage_vectors either.
-- +goose StatementBegin
create or replace function magpie_lacking_since(p_workspace uuid, p_collection uuid, p_model text, p_after bigint, p_whole boolean)
returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    passage_part text := 'passage_index_p' || magpie_part(p_collection);
    vector_part text := 'passage_vectors_p' || magpie_part(p_collection);
    lacking boolean;
begin
    perform magpie_only(p_workspace);
    if p_whole then
        execute format('select exists (select from %I v
            where v.collection_id = $1 and v.workspace_id = $2 and v.model = $3)', vector_part)
        into lacking using p_collection, p_workspace, p_model;
        if lacking then
            return true;
        end if;
    end if;
    execute format('select exists (
        select from document_changes c
        join %I i on i.collection_id = c.collection_id and i.document_id = c.document_id
        where c.collection_id = $1 and c.workspace_id = $2 and c.change_number > $4
            and i.model <> $3
            and ($5 or not exists (select from %I v where v.passage_id = i.passage_id and v.model = $3)))', passage_part, vector_part)
    into lacking using p_collection, p_workspace, p_model, p_after, p_whole;
    return lacking;
end
$$;
-- +goose StatementEnd

-- Moves vectors of the collection's model into passage_index, at most p_limit,
-- and returns how many it looked at. Their documents are locked meanwhile, as
-- every writer of passages does. The bytes that documents and the collection
-- take up follow: vectors of the new model may be longer or shorter.
-- +goose StatementBegin
create or replace function magpie_fold_vectors(p_workspace uuid, p_collection uuid, p_limit integer) returns integer
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    passage_part text := 'passage_index_p' || magpie_part(p_collection);
    vector_part text := 'passage_vectors_p' || magpie_part(p_collection);
    active text;
    chosen uuid[];
    owners uuid[];
    grown bigint;
begin
    perform magpie_only(p_workspace);
    select c.embedding_model into active from collections c
    where c.id = p_collection and c.workspace_id = p_workspace for share;
    execute format('
        select array_agg(s.passage_id), array_agg(s.document_id) from (
            select v.passage_id, v.document_id from %I v
            where v.collection_id = $1 and v.workspace_id = $2 and v.model = $3
            order by v.document_id limit $4) s', vector_part)
    into chosen, owners using p_collection, p_workspace, active, p_limit;
    if chosen is null then
        return 0;
    end if;
    -- Passages that a writer replaced meanwhile took their vectors with them.
    perform from documents d where d.id = any (owners) order by d.id for no key update;
    execute format('
        with difference as (
            select v.document_id, sum(2 * (vector_dims(v.embedding) - vector_dims(i.embedding))) as bytes
            from %2$I v join %1$I i on i.passage_id = v.passage_id
            where v.passage_id = any ($1) and v.model = $2 and i.model <> v.model
            group by v.document_id
        ), changed as (
            update documents d set index_bytes = d.index_bytes + x.bytes
            from difference x where d.id = x.document_id and x.bytes <> 0
            returning x.bytes, d.indexed_at is not null and d.deleted_at is null and d.status <> ''DELETED'' as live
        )
        select coalesce(sum(bytes) filter (where live), 0) from changed', passage_part, vector_part)
    into grown using chosen, active;
    execute format('
        update %1$I i set model = v.model, embedding = v.embedding
        from %2$I v
        where v.passage_id = any ($1) and v.model = $2 and i.passage_id = v.passage_id and i.model <> v.model', passage_part, vector_part)
    using chosen, active;
    execute format('delete from %I v where v.passage_id = any ($1) and v.model = $2', vector_part) using chosen, active;
    if grown <> 0 then -- last, as every writer takes this row
        update collection_state s set bytes = s.bytes + grown where s.collection_id = p_collection;
    end if;
    return cardinality(chosen);
end
$$;
-- +goose StatementEnd

-- Deletes vectors of models that are neither the collection's nor its next one,
-- at most p_limit, and returns how many.
-- +goose StatementBegin
create or replace function magpie_drop_vectors(p_workspace uuid, p_collection uuid, p_limit integer) returns integer
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    dropped integer;
begin
    perform magpie_only(p_workspace);
    perform from collections c where c.id = p_collection and c.workspace_id = p_workspace for share;
    execute format('
        delete from %1$I v
        where (v.passage_id, v.model) in (
            select o.passage_id, o.model
            from collections c join %1$I o on o.collection_id = c.id
            where c.id = $1 and c.workspace_id = $2
                and o.model <> c.embedding_model and o.model is distinct from c.next_model
            limit $3)', 'passage_vectors_p' || magpie_part(p_collection))
    using p_collection, p_workspace, p_limit;
    get diagnostics dropped = row_count;
    return dropped;
end
$$;
-- +goose StatementEnd

-- Programs of before cannot store a document's text: the key is another one, and
-- they make search indexes on the whole table.
update schema_floor set step = greatest(step, 20261130000500);
