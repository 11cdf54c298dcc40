-- +goose Up
-- The subscriptions that Magpie keeps at the platforms of inbound integrations. A row outlives its integration until the
-- subscription has ended at the platform; config and credentials (sealed) are those with which it was made, mark is their hash.
-- next_at is null while the integration wants none.
create table inbound_subscriptions (
    integration_id uuid not null primary key,
    workspace_id uuid not null,
    provider text not null,
    config jsonb not null,
    credentials bytea,
    external_id text not null default '',
    address text not null default '',
    mark bytea,
    expires_at timestamptz,
    next_at timestamptz,
    seen_at timestamptz not null,
    failures integer not null default 0,
    error text,
    constraint inbound_subscriptions_workspace_fk foreign key (workspace_id) references workspaces (id) on delete cascade
);
create index inbound_subscriptions_next on inbound_subscriptions (next_at);
