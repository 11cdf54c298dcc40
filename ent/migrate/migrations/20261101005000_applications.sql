-- +goose Up
-- Sessions of applications that a person has connected by OAuth.
alter table sessions
    add column application character varying not null default '',
    add column application_hash character varying not null default '';
