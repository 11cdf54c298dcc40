-- +goose Up
-- An agent's list of collections that is empty, or of which nothing exists any more, is not all of them.
-- modify "agents" table
ALTER TABLE "agents" ADD COLUMN "all_collections" boolean NOT NULL DEFAULT true;
update agents set all_collections = false where jsonb_array_length(collections) > 0;
