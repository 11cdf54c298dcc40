-- +goose Up
alter table conversations
    add column summary text not null default '',
    add column summarized bigint not null default 0;
