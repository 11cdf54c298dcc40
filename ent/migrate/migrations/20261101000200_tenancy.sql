-- +goose Up
-- A row may only point at rows of its own workspace: the database refuses what
-- the application should never have asked for.
alter table collections add constraint collections_workspace_key unique (workspace_id, id);
alter table connectors add constraint connectors_workspace_key unique (workspace_id, id);
alter table connectors add constraint connectors_collection_key unique (id, collection_id);
alter table conversations add constraint conversations_workspace_key unique (workspace_id, id);

alter table collections add constraint collections_workspace_fk
    foreign key (workspace_id) references workspaces (id) on delete cascade;
alter table api_keys add constraint api_keys_workspace_fk
    foreign key (workspace_id) references workspaces (id) on delete cascade;
alter table api_keys add constraint api_keys_default_collection_fk
    foreign key (workspace_id, default_collection) references collections (workspace_id, id) on delete set null (default_collection);
alter table connectors add constraint connectors_tenant_fk
    foreign key (workspace_id, collection_id) references collections (workspace_id, id) on delete cascade;
alter table documents add constraint documents_tenant_fk
    foreign key (workspace_id, connector_id) references connectors (workspace_id, id) on delete cascade;
alter table documents add constraint documents_collection_fk
    foreign key (connector_id, collection_id) references connectors (id, collection_id) on delete cascade;
alter table sync_jobs add constraint sync_jobs_tenant_fk
    foreign key (workspace_id, connector_id) references connectors (workspace_id, id) on delete cascade;
alter table sync_items add constraint sync_items_tenant_fk
    foreign key (workspace_id, connector_id) references connectors (workspace_id, id) on delete cascade;
alter table sync_items add constraint sync_items_document_fk
    foreign key (document_id) references documents (id) on delete set null;
create index sync_items_document on sync_items (document_id) where document_id is not null;
alter table source_files add constraint source_files_tenant_fk
    foreign key (workspace_id, connector_id) references connectors (workspace_id, id) on delete cascade;
alter table sessions add constraint sessions_member_fk
    foreign key (workspace_id, user_id) references memberships (workspace_id, user_id) on delete cascade;
alter table conversations add constraint conversations_workspace_fk
    foreign key (workspace_id) references workspaces (id) on delete cascade;
alter table conversations add constraint conversations_collection_fk
    foreign key (workspace_id, collection_id) references collections (workspace_id, id) on delete set null (collection_id);
alter table messages add constraint messages_tenant_fk
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade;

-- The cascades and joins above look rows up by these columns.
create index connectors_collection on connectors (collection_id);
create index documents_collection on documents (collection_id);
create index sessions_user on sessions (user_id);
create index messages_conversation on messages (conversation_id);

-- One job at a time is open for a connector; the sweeper looks open ones up by their heartbeat.
create unique index sync_jobs_one_open on sync_jobs (connector_id) where status in ('QUEUED', 'RUNNING');
create index sync_jobs_open_heartbeat on sync_jobs (heartbeat_at) where status in ('QUEUED', 'RUNNING');

-- Uploaded files are walked in the order of bytes, whatever the database's locale.
alter table source_files alter column path type character varying collate "C";
