-- +goose Up
-- Facets of searches, feedback on answers, and conversations that are forgotten.

-- magpie_live writes the condition under which a document (alias d) may be
-- found. A member of the filter that is missing does not filter; section,
-- version and language are what nodes of the version before ask for. Readers
-- are principals, of whom one must be among the document's unless it has no list.
-- +goose StatementBegin
create or replace function magpie_live(p_filter jsonb) returns text
language sql stable set search_path = pg_catalog, public, pg_temp as $$
    select 'd.indexed_at is not null and d.deleted_at is null and d.status <> ''DELETED'''
        || case when p_filter ? 'section' then format(' and d.section = %L', p_filter->>'section') else '' end
        || case when p_filter ? 'version' then format(' and d.version = %L', p_filter->>'version') else '' end
        || case when p_filter ? 'language' then format(' and d.language = %L', p_filter->>'language') else '' end
        || case when p_filter ? 'sections' then
            format(' and d.section = any (%L::text[])', array(select jsonb_array_elements_text(p_filter->'sections'))) else '' end
        || case when p_filter ? 'versions' then
            format(' and d.version = any (%L::text[])', array(select jsonb_array_elements_text(p_filter->'versions'))) else '' end
        || case when p_filter ? 'languages' then
            format(' and d.language = any (%L::text[])', array(select jsonb_array_elements_text(p_filter->'languages'))) else '' end
        || case when p_filter ? 'sources' then
            format(' and (select k.type from connectors k where k.id = d.connector_id) = any (%L::text[])',
                array(select jsonb_array_elements_text(p_filter->'sources'))) else '' end
        || case when p_filter ? 'connectors' then
            format(' and d.connector_id::text = any (%L::text[])', array(select jsonb_array_elements_text(p_filter->'connectors'))) else '' end
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

-- magpie_changes tells the connector of documents, too. As before: those that
-- changed after p_after, or with null every one that searches can find, ordered
-- by id; a row a passage, the last ten columns null for a document without any.
-- Call it in a select list: there it gives its rows one by one.
drop function magpie_changes(uuid, uuid, text, bigint, boolean);
-- +goose StatementBegin
create function magpie_changes(p_workspace uuid, p_collection uuid, p_model text, p_after bigint, p_apart boolean)
returns table (
    document_id uuid, live boolean, section text, version text, language text, doc_type text, tags jsonb,
    changed timestamptz, readers text[], source text, connector_id uuid,
    passage_id uuid, ordinal integer, title_words integer, heading_words integer, path_words integer, body_words integer,
    lexemes tsvector, embedding halfvec)
language sql stable security definer rows 100000
set search_path = pg_catalog, public, pg_temp
as $$
    select d.id, d.live, d.section, d.version, d.language, d.doc_type, d.tags, d.changed, d.readers, d.source, d.connector_id,
        p.passage_id, p.ordinal, p.title_words, p.heading_words, p.path_words, p.body_words, p.lexemes, p.embedding
    from (
        (
            select a.id, true as live, a.section, a.version, a.language, a.doc_type, a.tags,
                coalesce(a.source_updated_at, a.source_created_at) as changed, a.readers,
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
                coalesce(b.source_updated_at, b.source_created_at), b.readers,
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
        from passage_index i
        left join passage_vectors v on p_apart and v.passage_id = i.passage_id and v.model = p_model
        where d.live and i.collection_id = p_collection and i.document_id = d.id
        offset 0
    ) p on true;
$$;
-- +goose StatementEnd
revoke all on function magpie_changes from public;
grant execute on function magpie_changes to magpie_app;

drop function magpie_facets(uuid, uuid, jsonb, uuid[]);

-- magpie_facets counts the documents that the filter leaves, or those of
-- p_documents among them, by the values of the fields in p_facets, numbered as
-- internal/search/rank has them: a document without a value counts for ''.
-- Facet -1 is all of them. Facet 7 counts by time: the value is the place of a
-- range, from p_from (inclusive) to p_until (exclusive), null being no bound; and
-- facet 8 those without a time. Documents without a passage cannot be found, and
-- do not count.
-- +goose StatementBegin
create function magpie_facets(
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
            'and d.id in (select i.document_id from passage_index i where i.collection_id = %L %s)', p_collection, spoken) end,
        counts)
    using p_documents, p_from, p_until;
end
$$;
-- +goose StatementEnd
revoke all on function magpie_facets from public;
grant execute on function magpie_facets to magpie_app;

-- What people think of answers.
-- modify "messages" table
ALTER TABLE "messages" ADD COLUMN "request_id" character varying NULL;
-- create "feedbacks" table
CREATE TABLE "feedbacks" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "subject_id" uuid NOT NULL, "rating" character varying NOT NULL, "reason" character varying NULL, "comment" character varying NULL, "message_id" uuid NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "feedbacks_messages_feedback" FOREIGN KEY ("message_id") REFERENCES "messages" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "feedback_message_id_subject_id" to table: "feedbacks"
CREATE UNIQUE INDEX "feedback_message_id_subject_id" ON "feedbacks" ("message_id", "subject_id");
alter table messages add constraint messages_workspace_key unique (workspace_id, id);
alter table feedbacks add constraint feedbacks_tenant_fk
    foreign key (workspace_id, message_id) references messages (workspace_id, id) on delete cascade;

-- What has been kept long enough is looked up by the time of the last question.
create index conversations_updated on conversations (updated_at);
