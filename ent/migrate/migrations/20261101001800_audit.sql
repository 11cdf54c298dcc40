-- +goose Up
-- Who changed what (package audit).
-- create "audit_entries" table
CREATE TABLE "audit_entries" ("id" uuid NOT NULL, "workspace_id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "actor_kind" character varying NOT NULL, "actor_id" uuid NULL, "actor_name" character varying NOT NULL DEFAULT '', "session_id" uuid NULL, "ip" character varying NULL, "request_id" character varying NULL, "action" character varying NOT NULL, "target_kind" character varying NOT NULL, "target_id" uuid NULL, "target_name" character varying NOT NULL DEFAULT '', "changes" jsonb NOT NULL, PRIMARY KEY ("id"));
-- create index "auditentry_workspace_id_action_created_at" to table: "audit_entries"
CREATE INDEX "auditentry_workspace_id_action_created_at" ON "audit_entries" ("workspace_id", "action", "created_at");
-- create index "auditentry_workspace_id_actor_id_created_at" to table: "audit_entries"
CREATE INDEX "auditentry_workspace_id_actor_id_created_at" ON "audit_entries" ("workspace_id", "actor_id", "created_at");
-- create index "auditentry_workspace_id_created_at_id" to table: "audit_entries"
CREATE INDEX "auditentry_workspace_id_created_at_id" ON "audit_entries" ("workspace_id", "created_at", "id");
-- create index "auditentry_workspace_id_target_id_created_at" to table: "audit_entries"
CREATE INDEX "auditentry_workspace_id_target_id_created_at" ON "audit_entries" ("workspace_id", "target_id", "created_at");

-- The entries of a workspace end with it, and with nothing else that they name.
alter table audit_entries add constraint audit_entries_workspace_fk
    foreign key (workspace_id) references workspaces (id) on delete cascade;

-- What is too old to be kept is looked up by its time alone.
create index audit_entries_age on audit_entries (created_at);

-- The application adds entries and reads them. It can neither change nor remove one.
revoke all on audit_entries from magpie_app;
grant select, insert on audit_entries to magpie_app;

-- The one way in which entries go: the oldest first, at most so many, nothing of
-- the last day whatever is asked, and each workspace is left an entry that says
-- how many went.
-- +goose StatementBegin
create function magpie_forget_audit(before timestamptz, most integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    gone bigint;
begin
    if before > now() - interval '1 day' then
        raise exception 'entries of the last day are kept' using errcode = '22023';
    end if;
    with old as (
        select id from audit_entries where created_at < before order by created_at limit most for update skip locked
    ), deleted as (
        delete from audit_entries a using old where a.id = old.id returning a.workspace_id, a.action
    ), noted as (
        insert into audit_entries (id, workspace_id, created_at, actor_kind, action, target_kind, changes)
        select gen_random_uuid(), workspace_id, clock_timestamp(), 'SYSTEM', 'audit_log.trim', 'audit_log',
            jsonb_build_array(
                jsonb_build_object('field', 'entries', 'old', count(*), 'new', null, 'hidden', false),
                jsonb_build_object('field', 'before', 'old', null, 'new', before, 'hidden', false))
        from deleted group by workspace_id
        having count(*) filter (where action <> 'audit_log.trim') > 0
    )
    select count(*) into gone from deleted;
    return gone;
end
$$;
-- +goose StatementEnd
revoke all on function magpie_forget_audit from public;
grant execute on function magpie_forget_audit to magpie_app;

-- What dashboards ask of connectors with many documents (magpie bench dashboard): how many documents there are, which the
-- index alone answers, and a page of the ledger in the order of its paths.
create index documents_connector_status on documents (connector_id, status) include (workspace_id);
create index sync_items_connector_path on sync_items (connector_id, path);
