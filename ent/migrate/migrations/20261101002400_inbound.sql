-- +goose Up
-- What platforms told of changes (package inbound). A delivery is known by the
-- hash of its id, so that one that comes again is told apart.
create table inbound_events (
    workspace_id uuid not null,
    connector_id uuid not null,
    delivery bytea not null check (octet_length(delivery) = 32),
    seq bigint generated always as identity,
    items text[] not null,
    whole boolean not null,
    permissions boolean not null,
    happened_at timestamptz,
    received_at timestamptz not null,
    due_at timestamptz not null,
    attempts integer not null default 0,
    job_id uuid,
    done_at timestamptz,
    primary key (connector_id, delivery),
    constraint inbound_events_tenant_fk
        foreign key (workspace_id, connector_id) references connectors (workspace_id, id) on delete cascade
);
create index inbound_events_waiting on inbound_events (connector_id, due_at) where done_at is null and job_id is null;
create index inbound_events_working on inbound_events (job_id) where done_at is null and job_id is not null;
create index inbound_events_done on inbound_events (done_at) where done_at is not null;

-- The subscriptions that platforms were asked for.
create table connector_subscriptions (
    workspace_id uuid not null,
    connector_id uuid not null primary key,
    external_id text not null,
    address text not null,
    secret bytea,
    expires_at timestamptz,
    next_at timestamptz not null,
    failures integer not null default 0,
    error text,
    constraint connector_subscriptions_tenant_fk
        foreign key (workspace_id, connector_id) references connectors (workspace_id, id) on delete cascade
);
create index connector_subscriptions_next on connector_subscriptions (next_at);
