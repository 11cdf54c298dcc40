-- +goose Up
-- Collections and connectors that are being deleted: the row is gone for
-- everybody at once, what hangs on it is deleted in slices.
-- modify "collections" table
ALTER TABLE "collections" ADD COLUMN "deleting_at" timestamptz NULL;
-- modify "connectors" table
ALTER TABLE "connectors" ADD COLUMN "deleting_at" timestamptz NULL;
-- create index "connector_deleting_at" to table: "connectors"
CREATE INDEX "connector_deleting_at" ON "connectors" ("deleting_at") WHERE (deleting_at IS NOT NULL);
-- create index "document_connector_id_status" to table: "documents"
CREATE INDEX "document_connector_id_status" ON "documents" ("connector_id", "status");

-- Collections that are being deleted change no model any more.
-- +goose StatementBegin
create or replace function magpie_model_changes()
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
    where c.deleting_at is null and (c.next_model is not null or s.stale or apart.found)
    order by c.id;
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
    active text;
    chosen uuid[];
    owners uuid[];
    grown bigint;
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
    with difference as (
        select v.document_id, sum(2 * (vector_dims(v.embedding) - vector_dims(i.embedding))) as bytes
        from passage_vectors v join passage_index i on i.passage_id = v.passage_id
        where v.passage_id = any (chosen) and v.model = active and i.model <> v.model
        group by v.document_id
    ), changed as (
        update documents d set index_bytes = d.index_bytes + x.bytes
        from difference x where d.id = x.document_id and x.bytes <> 0
        returning x.bytes, d.indexed_at is not null and d.deleted_at is null and d.status <> 'DELETED' as live
    )
    select coalesce(sum(bytes) filter (where live), 0) into grown from changed;
    update passage_index i set model = v.model, embedding = v.embedding
    from passage_vectors v
    where v.passage_id = any (chosen) and v.model = active and i.passage_id = v.passage_id and i.model <> v.model;
    delete from passage_vectors v where v.passage_id = any (chosen) and v.model = active;
    if grown <> 0 then -- last, as every writer takes this row
        update collection_state s set bytes = s.bytes + grown where s.collection_id = p_collection;
    end if;
    return cardinality(chosen);
end
$$;
-- +goose StatementEnd
