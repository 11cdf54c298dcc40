-- +goose Up
-- What the sources of connectors remember (package note). Names stand in the
-- order of their bytes.
create table connector_notes (
    workspace_id uuid not null,
    connector_id uuid not null,
    name text collate "C" not null check (octet_length(name) between 1 and 200),
    data bytea not null check (octet_length(data) <= 1048576),
    primary key (connector_id, name),
    constraint connector_notes_tenant_fk
        foreign key (workspace_id, connector_id) references connectors (workspace_id, id) on delete cascade
);
