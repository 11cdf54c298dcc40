-- +goose Up
-- What documents consist of, in plain SQL tables: ent never reads them.

-- Foreign keys of these tables name the tenant too, so that no row can hang on
-- a document of another workspace or collection.
alter table documents add constraint documents_tenant_key unique (id, collection_id, workspace_id);

-- Bytes of text and vectors that the index holds for a document: the
-- collection's storage is their sum, also when a cascade deletes documents.
alter table documents add column index_bytes bigint not null default 0;

-- Text is fenced by row-level security that binds the owner as well: without
-- set_config('magpie.workspace', …, true) in the transaction there is nothing to see.
create table document_texts (
    document_id   uuid primary key,
    collection_id uuid not null,
    workspace_id  uuid not null,
    body          text not null,
    summary       text,
    constraint document_texts_document_fk foreign key (document_id, collection_id, workspace_id)
        references documents (id, collection_id, workspace_id) on delete cascade
);

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
    -- Ids are random; the rest of the key is there for passage_index to refer to.
    primary key (id, document_id, collection_id, workspace_id),
    constraint passages_document_ordinal unique (document_id, ordinal),
    constraint passages_document_fk foreign key (document_id, collection_id, workspace_id)
        references documents (id, collection_id, workspace_id) on delete cascade
);

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

-- What is searched. A policy that filters reads would keep the planner from
-- using the GIN index (@@ is not leakproof), so the application cannot read
-- this table at all: it inserts, foreign keys delete, and one function that
-- runs as the owner reads. The policy here binds inserts only; the owner is not
-- bound by it.
create table passage_index (
    passage_id    uuid primary key,
    document_id   uuid not null,
    collection_id uuid not null,
    workspace_id  uuid not null,
    ordinal       integer not null,
    -- Words of each field as BM25 counts them, stop words of headings left out.
    title_words   integer not null,
    heading_words integer not null,
    path_words    integer not null,
    body_words    integer not null,
    -- Terms of our analyzer. Labels: A title, B the passage's own heading and
    -- the headings above it, D body; positions tell the fields apart exactly
    -- (internal/index). C is left free for queries to mark what they look for.
    lexemes       tsvector not null,
    model         text not null,
    embedding     halfvec not null,
    constraint passage_index_passage_fk foreign key (passage_id, document_id, collection_id, workspace_id)
        references passages (id, document_id, collection_id, workspace_id) on delete cascade
)
-- Rows stay whole: detoasting every row that a scan looks at costs more than the wider row.
with (toast_tuple_target = 8160);

create index passage_index_document on passage_index (collection_id, document_id);
create index passage_index_lexemes on passage_index using gin (lexemes);

alter table passage_index enable row level security;
create policy passage_index_insert on passage_index for insert
    with check (workspace_id = nullif(current_setting('magpie.workspace', true), '')::uuid);
revoke all on passage_index from magpie_app;
grant insert on passage_index to magpie_app;

-- One counter row a collection. Writers update it last, so that change numbers
-- become visible in order and the row is held for a moment only.
create table collection_state (
    collection_id uuid primary key,
    workspace_id  uuid not null,
    change_number bigint not null default 0,
    documents     bigint not null default 0,
    passages      bigint not null default 0,
    bytes         bigint not null default 0,
    constraint collection_state_collection_fk foreign key (workspace_id, collection_id)
        references collections (workspace_id, id) on delete cascade
) with (fillfactor = 20);

grant select, insert, update, delete on collection_state to magpie_app;

-- Documents that end with their connector end outside internal/index: the
-- counters follow here, one statement whatever the number of documents.
-- +goose StatementBegin
create function magpie_documents_deleted() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    update collection_state s
    set change_number = s.change_number + 1,
        documents = s.documents - d.documents,
        passages = s.passages - d.passages,
        bytes = s.bytes - d.bytes
    from (
        select collection_id, count(*) as documents, sum(passage_count) as passages, sum(index_bytes) as bytes
        from gone
        where indexed_at is not null and deleted_at is null and status <> 'DELETED'
        group by collection_id
    ) d
    where s.collection_id = d.collection_id;
    return null;
end
$$;
-- +goose StatementEnd

create trigger magpie_documents_deleted after delete on documents
    referencing old table as gone for each statement execute function magpie_documents_deleted();

-- A worker that holds a job under attempt n may write only as long as nobody
-- took the job over. The lock keeps it so until the transaction ends.
-- +goose StatementBegin
create function magpie_hold_job(job uuid, held bigint, workspace uuid) returns void
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    perform from sync_jobs where id = job and attempt = held and workspace_id = workspace for share;
    if not found then
        raise exception 'the sync job has been taken over' using errcode = 'MG001';
    end if;
end
$$;
-- +goose StatementEnd
