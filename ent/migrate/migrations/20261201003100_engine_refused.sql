-- +goose Up
-- Documents of which the engine refuses an object for what it is (package worker/project). The class does not have them
-- completely, so that searches read them into memory, as they do with what the engine does not have yet.
alter table engine_collections add column refused uuid[] not null default '{}';

-- +goose Down
alter table engine_collections drop column refused;
