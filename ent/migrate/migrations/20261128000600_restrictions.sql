-- +goose Up
-- Documents that an administrator restricts to people, domains and groups. A restriction belongs to the item of a source
-- rather than to a document, so that it stays when the document is purged and comes back.
create table document_restrictions (
    workspace_id uuid not null,
    connector_id uuid not null,
    source_id text not null,
    readers text[] not null check (cardinality(readers) > 0),
    created_at timestamptz not null default now(),
    created_by uuid,
    primary key (connector_id, source_id),
    constraint document_restrictions_tenant_fk
        foreign key (workspace_id, connector_id) references connectors (workspace_id, id) on delete cascade
);
create index document_restrictions_created on document_restrictions (workspace_id, created_at);

-- The readers of a document's restriction; null for none. A viewer must be among them and among the readers.
alter table documents add column restricted_to text[];
-- modify "documents" table
ALTER TABLE "documents" ADD COLUMN "restricted" boolean NOT NULL DEFAULT false;
create index documents_restricted on documents (collection_id) where restricted_to is not null;
create index documents_restricted_connector on documents (connector_id) where restricted;

-- A new document of a restricted item is restricted.
-- +goose StatementBegin
create function magpie_document_restricted() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    select r.readers into new.restricted_to from document_restrictions r
    where r.connector_id = new.connector_id and r.source_id = new.source_id;
    new.restricted := new.restricted_to is not null;
    return new;
end
$$;
-- +goose StatementEnd
create trigger magpie_document_restricted before insert on documents
    for each row execute function magpie_document_restricted();

-- As before, with restrictions: Readers are principals, of whom one must be among the document's readers, and one among
-- those of its restriction, unless it has no such list.
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
            format(' and (d.readers is null or d.readers && %1$L::text[]) and (d.restricted_to is null or d.restricted_to && %1$L::text[])',
                array(select jsonb_array_elements_text(p_filter->'readers'))) else '' end
$$;
-- +goose StatementEnd

-- magpie_readers is the list of readers that magpie_changes gives of a document: its readers, or for a restricted
-- document its readers with U+001F before each ('*' for everybody) and then those of the restriction with U+001E. So
-- programs of the version before find nobody who may read it.
create function magpie_readers(p_readers text[], p_restricted_to text[]) returns text[]
language sql immutable parallel safe set search_path = pg_catalog, public, pg_temp as $$
    select case when p_restricted_to is null then p_readers else
        array(select e'\x1f' || r from unnest(coalesce(p_readers, array['*'])) r) || array(select e'\x1e' || r from unnest(p_restricted_to) r) end
$$;
revoke all on function magpie_readers from public;
grant execute on function magpie_readers to magpie_app;

-- +goose StatementBegin
create or replace function magpie_changes(p_workspace uuid, p_collection uuid, p_model text, p_after bigint, p_apart boolean)
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
        from passage_index i
        left join passage_vectors v on p_apart and v.passage_id = i.passage_id and v.model = p_model
        where d.live and i.collection_id = p_collection and i.document_id = d.id
        offset 0
    ) p on true;
$$;
-- +goose StatementEnd
