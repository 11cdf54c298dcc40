-- +goose Up
-- The headings within a passage's text, where it has text of several sections:
-- [{"start": byte offset in body, "headings": [...], "anchor": "...", "page": 1}].
-- Null where there are none, and for passages that were stored before.
alter table passages add column sections jsonb;
