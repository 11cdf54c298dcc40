-- +goose Up
-- A document that is shared with an unknown group is noted while groups are being
-- read: they are read again soon after.
alter table connectors add column groups_wanted_at timestamptz;
