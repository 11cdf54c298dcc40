-- +goose Up
-- Who may see what at the sources of connectors.
-- modify "connectors" table
ALTER TABLE "connectors" ADD COLUMN "closed" boolean NOT NULL DEFAULT false, ADD COLUMN "permissions_revision" bigint NOT NULL DEFAULT 0, ADD COLUMN "readers_pending" bigint NOT NULL DEFAULT 0, ADD COLUMN "readers_revision" bigint NOT NULL DEFAULT 0, ADD COLUMN "readers_at" timestamptz NULL, ADD COLUMN "groups_attempt" bigint NOT NULL DEFAULT 0, ADD COLUMN "groups_generation" bigint NOT NULL DEFAULT 0, ADD COLUMN "groups_at" timestamptz NULL, ADD COLUMN "groups_due_at" timestamptz NULL, ADD COLUMN "groups_failure" character varying NULL;
-- modify "conversations" table
ALTER TABLE "conversations" ADD COLUMN "named" character varying NOT NULL DEFAULT '';

-- When the source said who may see a document; null while it has not.
alter table documents add column readers_at timestamptz;
update documents set readers_at = updated_at where readers is not null;
create index documents_readers on documents (collection_id) where readers is not null;
create index connectors_closed on connectors (workspace_id, collection_id) where closed;

-- The groups of a source and who belongs to them, of each reading; those of
-- connectors.groups_generation count. Principals are the source's own: "user:"
-- with an address in lower case, "group:" with the source's id.
create table principal_groups (
    workspace_id uuid not null,
    connector_id uuid not null,
    generation bigint not null,
    principal text collate "C" not null check (octet_length(principal) between 1 and 1100),
    name text not null check (octet_length(name) <= 2000),
    primary key (connector_id, generation, principal),
    constraint principal_groups_tenant_fk
        foreign key (workspace_id, connector_id) references connectors (workspace_id, id) on delete cascade
);
create table principal_members (
    workspace_id uuid not null,
    connector_id uuid not null,
    generation bigint not null,
    principal text collate "C" not null check (octet_length(principal) between 1 and 1100),
    member text collate "C" not null check (octet_length(member) between 1 and 1100),
    primary key (connector_id, generation, principal, member),
    constraint principal_members_tenant_fk
        foreign key (workspace_id, connector_id) references connectors (workspace_id, id) on delete cascade
);
-- Of which groups somebody is a member.
create index principal_members_member on principal_members (workspace_id, member, connector_id, generation);
