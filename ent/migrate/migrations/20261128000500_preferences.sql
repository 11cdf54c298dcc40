-- +goose Up
-- How people want the dashboard to be shown. Empty values are the browser's.
alter table users add column language character varying null;
alter table users add column theme character varying not null default 'SYSTEM';
alter table users add column time_zone character varying null;
