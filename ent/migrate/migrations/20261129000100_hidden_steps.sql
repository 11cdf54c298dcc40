-- +goose Up
-- The workspaces whose first steps a person has dismissed.
alter table users add column hidden_steps jsonb null;
