-- +goose Up
-- The schemas of attached databases, as their last schema sync read them
-- (package attached). revision rises with every change, so that what was read
-- once may be kept.
create table database_schemas (
    workspace_id uuid not null,
    connector_id uuid not null,
    revision bigint not null default 1,
    synced_at timestamptz not null,
    primary key (connector_id),
    constraint database_schemas_key unique (workspace_id, connector_id),
    constraint database_schemas_tenant_fk
        foreign key (workspace_id, connector_id) references connectors (workspace_id, id) on delete cascade
);

create table database_tables (
    workspace_id uuid not null,
    connector_id uuid not null,
    schema_name text collate "C" not null check (octet_length(schema_name) <= 512),
    name text collate "C" not null check (octet_length(name) between 1 and 512),
    is_view boolean not null,
    comment text not null,
    -- The engine's estimate, -1 when unknown.
    row_estimate bigint not null,
    columns jsonb not null,
    primary_key jsonb not null,
    foreign_keys jsonb not null,
    -- Of all of the above but the estimate.
    digest bytea not null,
    changed_at timestamptz not null,
    primary key (connector_id, schema_name, name),
    constraint database_tables_tenant_fk
        foreign key (workspace_id, connector_id) references database_schemas (workspace_id, connector_id) on delete cascade
);
