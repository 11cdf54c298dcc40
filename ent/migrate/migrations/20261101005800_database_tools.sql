-- +goose Up
-- Whether programs that connect to /mcp by the secret key query the attached databases of the key's collections.
alter table api_keys
    add column database_tools boolean not null default false;
