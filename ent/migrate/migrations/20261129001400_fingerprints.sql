-- +goose Up
-- The vectors of fixed sentences by each embedding model of a service, which tell whether it still gives the same ones
-- (package internal/model/fingerprint). They belong to the installation.
create table embedding_fingerprints (
    model text primary key,
    dimensions integer not null check (dimensions > 0),
    vectors bytea not null,
    created_at timestamptz not null default now(),
    -- Set while the model gives other vectors, with a sentence that says how they differ.
    changed_at timestamptz,
    reason text,
    constraint embedding_fingerprints_change_check check ((changed_at is null) = (reason is null))
);
grant select, insert, update, delete on embedding_fingerprints to magpie_app;

-- +goose Down
drop table embedding_fingerprints;
