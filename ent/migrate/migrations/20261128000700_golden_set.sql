-- +goose Up
-- The golden set of a collection: questions for which people named the right documents (package internal/eval/traffic).
-- A question has the id that it has in query_texts, so that it is one with the same question in the traffic.
create table golden_judgements (
    workspace_id uuid not null,
    collection_id uuid not null,
    text_id bigint not null,
    question text not null,
    document_id uuid not null,
    grade smallint not null check (grade between 1 and 3),
    created_at timestamptz not null default now(),
    primary key (collection_id, text_id, document_id),
    constraint golden_judgements_collection_fk foreign key (workspace_id, collection_id)
        references collections (workspace_id, id) on delete cascade,
    constraint golden_judgements_document_fk foreign key (document_id, collection_id, workspace_id)
        references documents (id, collection_id, workspace_id) on delete cascade
);
create index golden_judgements_document on golden_judgements (document_id);
-- The question is of the golden set when it was measured.
alter table quality_questions add column golden boolean not null default false;

grant select, insert, update, delete on golden_judgements to magpie_app;
