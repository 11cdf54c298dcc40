-- +goose Up
-- The tools of tool servers are read again every day, with the credentials that read them before.
alter table "tool_integrations" add column "discovered_by" uuid null, add column "refresh_at" timestamptz null;
create index tool_integrations_refresh on tool_integrations (refresh_at) where refresh_at is not null;
update tool_integrations set refresh_at = now() where kind = 'MCP' and discovered_at is not null and credentials_of = 'SHARED';
