-- +goose Up
-- Collections that a distributed engine searches beside PostgreSQL (package internal/search/engine), and how far the
-- projection of each has got (package worker/project).

-- Which tier may search the collection. With AUTO its size decides.
-- modify "collections" table
ALTER TABLE "collections" ADD COLUMN "search_tier" character varying NOT NULL DEFAULT 'AUTO';

-- Collections of at least so many passages are projected into the engine, if there is one; null for none.
alter table search_settings add column engine_passages bigint default 2000000 check (engine_passages > 0);

-- Many documents may have changed at once: a page of them is found without sorting all.
create index document_changes_position on document_changes (collection_id, change_number, document_id);
drop index document_changes_number;

-- The name of this installation in the engine. It is made when an engine is used for the first time, and is in no
-- backup, so that what is restored beside its origin has a name of its own.
create table engine_instance (
    only_row boolean primary key default true check (only_row),
    name     text not null check (name ~ '^[0-9a-f]{12}$'),
    origin   text not null -- the cluster and the database that the name was made in
);

-- The class of each projected collection. It is in no backup: what is restored is projected anew.
create table engine_collections (
    collection_id      uuid primary key,
    workspace_id       uuid not null,
    class              text not null unique,
    class_generation   bigint not null,
    -- The generation of the collection's changes (collection_state), the model and the length of the vectors of the class.
    index_generation   bigint not null,
    model              text not null,
    dimensions         integer not null check (dimensions >= 0),
    shards             integer not null check (shards >= 0), -- 0: as many as the engine likes
    replicas           integer not null check (replicas > 0),
    -- The history of the database that the class follows: cluster, database and timeline. Another history may lack changes
    -- that the class has.
    history            text not null,
    -- BUILDING until the class has everything, FAILED if the engine refuses it.
    state              text not null default 'BUILDING' check (state in ('BUILDING', 'READY', 'FAILED')),
    -- The engine was sent all documents whose newest change is at most written_change, and those of the change after it
    -- whose ids are at most written_document. Each replica is known to have the confirmed ones.
    written_change     bigint not null default 0,
    written_document   uuid not null default '00000000-0000-0000-0000-000000000000',
    confirmed_change   bigint not null default 0,
    confirmed_document uuid not null default '00000000-0000-0000-0000-000000000000',
    objects            bigint not null default 0, -- that were sent since the class was made
    -- Why the last try failed, how many failed in a row, and when there is another one.
    last_error         text,
    failures           integer not null default 0,
    next_try_at        timestamptz not null default now(),
    behind_since       timestamptz, -- null while everything is confirmed
    checked_at         timestamptz not null default now(), -- when the replicas were last looked at
    -- The process that projects the collection. Its attempt fences its writes.
    holder             uuid,
    held_until         timestamptz,
    attempt            bigint not null default 1,
    updated_at         timestamptz not null default now(),
    constraint engine_collections_collection_fk foreign key (workspace_id, collection_id)
        references collections (workspace_id, id) on delete cascade
) with (fillfactor = 50);

-- magpie_entries are documents of a collection as magpie_changes tells them: all of p_documents, ordered by id, those that
-- searches do not find as not live. Without p_whole lexemes and vectors are null. Call it in a select list.
-- +goose StatementBegin
create function magpie_entries(p_workspace uuid, p_collection uuid, p_model text, p_documents uuid[], p_apart boolean, p_whole boolean)
returns table (
    document_id uuid, live boolean, section text, version text, language text, doc_type text, tags jsonb,
    changed timestamptz, readers text[], source text, connector_id uuid,
    passage_id uuid, ordinal integer, title_words integer, heading_words integer, path_words integer, body_words integer,
    lexemes tsvector, embedding halfvec)
language sql stable security definer rows 1000
set search_path = pg_catalog, public, pg_temp
as $$
    select d.id, d.live, d.section, d.version, d.language, d.doc_type, d.tags, d.changed, d.readers, d.source, d.connector_id,
        p.passage_id, p.ordinal, p.title_words, p.heading_words, p.path_words, p.body_words, p.lexemes, p.embedding
    from (
        select x.id, b.id is not null as live, b.section, b.version, b.language, b.doc_type, b.tags,
            coalesce(b.source_updated_at, b.source_created_at) as changed, magpie_readers(b.readers, b.restricted_to) as readers,
            (select k.type from connectors k where k.id = b.connector_id) as source, b.connector_id
        from (select distinct id from unnest(p_documents) u (id) order by id offset 0) x
        left join lateral (
            select * from documents e
            where e.id = x.id and e.collection_id = p_collection and e.workspace_id = p_workspace
                and e.indexed_at is not null and e.deleted_at is null and e.status <> 'DELETED'
            offset 0
        ) b on true
        where p_workspace = nullif(current_setting('magpie.workspace', true), '')::uuid
        order by x.id
    ) d
    left join lateral (
        select i.passage_id, i.ordinal, i.title_words, i.heading_words, i.path_words, i.body_words,
            case when p_whole then i.lexemes end as lexemes,
            case when not p_whole then null when i.model = p_model then i.embedding else v.embedding end as embedding
        from passage_index i
        left join passage_vectors v on p_whole and p_apart and v.collection_id = p_collection and v.passage_id = i.passage_id and v.model = p_model
        where d.live and i.collection_id = p_collection and i.document_id = d.id
        offset 0
    ) p on true;
$$;
-- +goose StatementEnd
revoke all on function magpie_entries from public;
grant execute on function magpie_entries to magpie_app;

-- +goose Down
drop function magpie_entries;
create index document_changes_number on document_changes (collection_id, change_number);
drop index document_changes_position;
drop table engine_collections, engine_instance;
alter table search_settings drop column engine_passages;
alter table collections drop column search_tier;
