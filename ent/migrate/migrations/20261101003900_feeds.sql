-- +goose Up
-- Feeds of changes: where the next sync of a connector reads on, what a job has read so far,
-- and to which part of a source an item belongs.
alter table connectors
    add column feed_token text not null default '',
    add column feed_settings character varying not null default '',
    add column walked_at timestamptz;
alter table sync_jobs
    add column feed boolean not null default false,
    add column feed_token text,
    add column settings_hash character varying not null default '',
    add column incomplete jsonb,
    add column announced bigint not null default 0,
    add column waits_for character varying not null default '';
alter table sync_items
    add column container character varying not null default '',
    add column gone_job_id uuid;
create index syncitem_connector_id_gone_job_id on sync_items (connector_id, gone_job_id) where gone_job_id is not null;
