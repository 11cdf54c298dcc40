-- +goose Up
-- What lets an index in memory follow a collection: which document changed
-- last at which change number, what a search must have seen, and vectors of a
-- second model while a collection changes its model.

-- Who may find a document, by their principals; null is everyone who reaches
-- the collection.
alter table documents add column readers text[];

-- The model that a collection is changing to: passages get their vectors of it
-- in the background, then it becomes the collection's.
-- modify "collections" table
ALTER TABLE "collections" ADD COLUMN "next_model" character varying NULL;

alter table collection_state
    -- The change number that a search must have seen at least.
    add column required_number bigint not null default 0,
    -- Rises when everything must be read anew.
    add column generation bigint not null default 0,
    -- The collection's model as writers see it who hold this row.
    add column model text,
    -- Some passage may lack its vector of that model in passage_index.
    add column stale boolean not null default false;

update collection_state s set required_number = s.change_number, model = c.embedding_model
from collections c where c.id = s.collection_id;

-- The last change of each document, kept after the document is gone. Rows are
-- written under the lock on the collection's counter row only.
create table document_changes (
    collection_id uuid not null references collection_state (collection_id) on delete cascade,
    document_id   uuid not null,
    workspace_id  uuid not null,
    change_number bigint not null,
    primary key (collection_id, document_id)
);
create index document_changes_number on document_changes (collection_id, change_number);
grant select, insert, update, delete on document_changes to magpie_app;

insert into document_changes (collection_id, document_id, workspace_id, change_number)
select d.collection_id, d.id, d.workspace_id, s.change_number
from documents d join collection_state s on s.collection_id = d.collection_id
where d.indexed_at is not null;

-- Vectors of a second model. They move into passage_index once the collection
-- has changed to that model; usually there are none. The fence is the one of
-- passage_index: the application inserts, functions of the owner do the rest.
create table passage_vectors (
    passage_id    uuid not null,
    document_id   uuid not null,
    collection_id uuid not null,
    workspace_id  uuid not null,
    model         text not null,
    embedding     halfvec not null,
    primary key (passage_id, model),
    constraint passage_vectors_passage_fk foreign key (passage_id, document_id, collection_id, workspace_id)
        references passages (id, document_id, collection_id, workspace_id) on delete cascade
)
with (toast_tuple_target = 8160);
create index passage_vectors_model on passage_vectors (collection_id, model, document_id);

alter table passage_vectors enable row level security;
create policy passage_vectors_insert on passage_vectors for insert
    with check (workspace_id = nullif(current_setting('magpie.workspace', true), '')::uuid);
revoke all on passage_vectors from magpie_app;
grant insert on passage_vectors to magpie_app;

-- Documents that end with their connector end outside internal/index: counters
-- and changes follow here, one statement whatever the number of documents. Of a
-- collection that is going itself there is nothing to note.
-- +goose StatementBegin
create or replace function magpie_documents_deleted() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    with lost as (
        select collection_id, count(*) as documents, sum(passage_count) as passages, sum(index_bytes) as bytes,
            sum(index_words) as words
        from gone
        where indexed_at is not null and deleted_at is null and status <> 'DELETED'
        group by collection_id
    ), raised as (
        update collection_state s
        set change_number = s.change_number + 1,
            required_number = s.change_number + 1,
            documents = s.documents - d.documents,
            passages = s.passages - d.passages,
            bytes = s.bytes - d.bytes,
            words = s.words - d.words
        from lost d join collections c on c.id = d.collection_id
        where s.collection_id = d.collection_id
        returning s.collection_id, s.workspace_id, s.change_number
    )
    insert into document_changes (collection_id, document_id, workspace_id, change_number)
    select r.collection_id, g.id, r.workspace_id, r.change_number
    from gone g join raised r on r.collection_id = g.collection_id
    where g.indexed_at is not null and g.deleted_at is null and g.status <> 'DELETED'
    on conflict (collection_id, document_id) do update set change_number = excluded.change_number;
    return null;
end
$$;
-- +goose StatementEnd

-- What a finished sync stored must be found from its end on. The trigger is a
-- deferred one so that the counter row is locked last, at the commit.
-- +goose StatementBegin
create function magpie_sync_ended() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    update collection_state s set required_number = s.change_number
    from connectors k
    where k.id = new.connector_id and s.collection_id = k.collection_id and s.required_number < s.change_number;
    return null;
end
$$;
-- +goose StatementEnd

create constraint trigger magpie_sync_ended after update of status on sync_jobs
    deferrable initially deferred for each row
    when (new.status not in ('QUEUED', 'RUNNING') and old.status in ('QUEUED', 'RUNNING'))
    execute function magpie_sync_ended();

-- Whatever changes a collection's model, readers begin anew and writers that
-- still have vectors of the old one are noticed.
-- +goose StatementBegin
create function magpie_model_changed() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into collection_state as s (collection_id, workspace_id, change_number, required_number, generation, model, stale)
    values (new.id, new.workspace_id, 1, 1, 1, new.embedding_model, true)
    on conflict (collection_id) do update set change_number = s.change_number + 1, required_number = s.change_number + 1,
        generation = s.generation + 1, model = excluded.model, stale = true;
    return null;
end
$$;
-- +goose StatementEnd

create trigger magpie_model_changed after update of embedding_model on collections
    for each row when (old.embedding_model is distinct from new.embedding_model)
    execute function magpie_model_changed();

-- The documents of a collection that changed after p_after, or with null every
-- one that searches can find, ordered by id; a row a passage, the last ten
-- columns null for a document without any. p_apart says that vectors of the
-- model may stand in passage_vectors. Call it in a select list: there it gives
-- its rows one by one, while in a from clause it would gather them first.
-- +goose StatementBegin
create function magpie_changes(p_workspace uuid, p_collection uuid, p_model text, p_after bigint, p_apart boolean)
returns table (
    document_id uuid, live boolean, section text, version text, language text, doc_type text, tags jsonb,
    changed timestamptz, readers text[],
    passage_id uuid, ordinal integer, title_words integer, heading_words integer, path_words integer, body_words integer,
    lexemes tsvector, embedding halfvec)
language sql stable security definer rows 100000
set search_path = pg_catalog, public, pg_temp
as $$
    select d.id, d.live, d.section, d.version, d.language, d.doc_type, d.tags, d.changed, d.readers,
        p.passage_id, p.ordinal, p.title_words, p.heading_words, p.path_words, p.body_words, p.lexemes, p.embedding
    from (
        (
            select a.id, true as live, a.section, a.version, a.language, a.doc_type, a.tags,
                coalesce(a.source_updated_at, a.source_created_at) as changed, a.readers
            from documents a
            where p_after is null and p_workspace = nullif(current_setting('magpie.workspace', true), '')::uuid
                and a.collection_id = p_collection and a.workspace_id = p_workspace
                and a.indexed_at is not null and a.deleted_at is null and a.status <> 'DELETED'
            order by a.id
        )
        union all
        (
            select x.document_id, b.id is not null, b.section, b.version, b.language, b.doc_type, b.tags,
                coalesce(b.source_updated_at, b.source_created_at), b.readers
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

-- Collections, of any workspace, that change their model, or where passages
-- lack vectors or have those of a second model. It tells ids only.
-- +goose StatementBegin
create function magpie_model_changes()
returns table (collection_id uuid, workspace_id uuid, model text, next_model text, stale boolean)
language sql stable security definer rows 10
set search_path = pg_catalog, public, pg_temp
as $$
    select c.id, c.workspace_id, c.embedding_model, c.next_model, coalesce(s.stale, false) or apart.found
    from collections c
    left join collection_state s on s.collection_id = c.id
    -- Vectors of another model than the next one; no model is named ''.
    cross join lateral (select
        exists (select from passage_vectors v where v.collection_id = c.id and v.model > coalesce(c.next_model, ''))
        or exists (select from passage_vectors v where v.collection_id = c.id and v.model < c.next_model)) apart (found)
    where c.next_model is not null or s.stale or apart.found
    order by c.id;
$$;
-- +goose StatementEnd
revoke all on function magpie_model_changes from public;
grant execute on function magpie_model_changes to magpie_app;

-- +goose StatementBegin
create function magpie_only(p_workspace uuid) returns void
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
begin
    if p_workspace is distinct from nullif(current_setting('magpie.workspace', true), '')::uuid then
        raise exception 'the transaction is not set to this workspace' using errcode = 'insufficient_privilege';
    end if;
end
$$;
-- +goose StatementEnd

-- Passages without a vector of a model, whether their document is deleted or
-- not, in the order of their documents from p_from on; with p_after those of
-- documents that changed after it only.
-- +goose StatementBegin
create function magpie_lacking(p_workspace uuid, p_collection uuid, p_model text, p_after bigint, p_from uuid, p_limit integer)
returns table (passage_id uuid, document_id uuid)
language plpgsql stable security definer rows 200
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
begin
    perform magpie_only(p_workspace);
    if p_after is null then
        return query
        select i.passage_id, i.document_id from passage_index i
        where i.collection_id = p_collection and i.workspace_id = p_workspace and i.document_id >= p_from and i.model <> p_model
            and not exists (select from passage_vectors v where v.passage_id = i.passage_id and v.model = p_model)
        order by i.document_id limit p_limit;
    else
        return query
        select i.passage_id, i.document_id
        from document_changes c join passage_index i on i.collection_id = c.collection_id and i.document_id = c.document_id
        where c.collection_id = p_collection and c.workspace_id = p_workspace and c.change_number > p_after
            and c.document_id >= p_from and i.model <> p_model
            and not exists (select from passage_vectors v where v.passage_id = i.passage_id and v.model = p_model)
        order by c.document_id limit p_limit;
    end if;
end
$$;
-- +goose StatementEnd
revoke all on function magpie_lacking from public;
grant execute on function magpie_lacking to magpie_app;

-- Whether a document that changed after p_after has a passage without a vector
-- of a model; with p_whole one in passage_index, and then nothing of the model
-- may stand in passage_vectors either.
-- +goose StatementBegin
create function magpie_lacking_since(p_workspace uuid, p_collection uuid, p_model text, p_after bigint, p_whole boolean)
returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
begin
    perform magpie_only(p_workspace);
    if p_whole and exists (select from passage_vectors v
        where v.collection_id = p_collection and v.workspace_id = p_workspace and v.model = p_model)
    then
        return true;
    end if;
    return exists (
        select from document_changes c
        join passage_index i on i.collection_id = c.collection_id and i.document_id = c.document_id
        where c.collection_id = p_collection and c.workspace_id = p_workspace and c.change_number > p_after
            and i.model <> p_model
            and (p_whole or not exists (select from passage_vectors v where v.passage_id = i.passage_id and v.model = p_model)));
end
$$;
-- +goose StatementEnd
revoke all on function magpie_lacking_since from public;
grant execute on function magpie_lacking_since to magpie_app;

-- Moves vectors of the collection's model into passage_index, at most p_limit,
-- and returns how many it looked at. Their documents are locked meanwhile, as
-- every writer of passages does.
-- +goose StatementBegin
create function magpie_fold_vectors(p_workspace uuid, p_collection uuid, p_limit integer) returns integer
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    active text;
    chosen uuid[];
    owners uuid[];
begin
    perform magpie_only(p_workspace);
    select c.embedding_model into active from collections c
    where c.id = p_collection and c.workspace_id = p_workspace for share;
    select array_agg(s.passage_id), array_agg(s.document_id) into chosen, owners from (
        select v.passage_id, v.document_id from passage_vectors v
        where v.collection_id = p_collection and v.workspace_id = p_workspace and v.model = active
        order by v.document_id limit p_limit) s;
    if chosen is null then
        return 0;
    end if;
    -- Passages that a writer replaced meanwhile took their vectors with them.
    perform from documents d where d.id = any (owners) order by d.id for no key update;
    update passage_index i set model = v.model, embedding = v.embedding
    from passage_vectors v
    where v.passage_id = any (chosen) and v.model = active and i.passage_id = v.passage_id and i.model <> v.model;
    delete from passage_vectors v where v.passage_id = any (chosen) and v.model = active;
    return cardinality(chosen);
end
$$;
-- +goose StatementEnd
revoke all on function magpie_fold_vectors from public;
grant execute on function magpie_fold_vectors to magpie_app;

-- Deletes vectors of models that are neither the collection's nor its next one,
-- at most p_limit, and returns how many.
-- +goose StatementBegin
create function magpie_drop_vectors(p_workspace uuid, p_collection uuid, p_limit integer) returns integer
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    dropped integer;
begin
    perform magpie_only(p_workspace);
    perform from collections c where c.id = p_collection and c.workspace_id = p_workspace for share;
    delete from passage_vectors v
    where (v.passage_id, v.model) in (
        select o.passage_id, o.model
        from collections c join passage_vectors o on o.collection_id = c.id
        where c.id = p_collection and c.workspace_id = p_workspace
            and o.model <> c.embedding_model and o.model is distinct from c.next_model
        limit p_limit);
    get diagnostics dropped = row_count;
    return dropped;
end
$$;
-- +goose StatementEnd
revoke all on function magpie_drop_vectors from public;
grant execute on function magpie_drop_vectors to magpie_app;
