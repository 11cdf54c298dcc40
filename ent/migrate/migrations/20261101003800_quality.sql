-- +goose Up
-- Measurements of search quality by the questions that people asked and the documents
-- that they chose (package internal/eval/traffic). Questions are ids of query_texts, so
-- that no text is kept longer than there.
create table quality_runs (
    id            uuid primary key, -- version 7: in the order of time
    workspace_id  uuid not null references workspaces (id) on delete cascade,
    collection_id uuid not null,
    measured_at   timestamptz not null,
    days          integer not null,
    questions     integer not null,
    judged        integer not null, -- questions with a chosen document
    ndcg          double precision not null, -- mean over the judged questions
    mrr           double precision not null,
    zero_results  integer not null, -- questions without a result
    low_scores    integer not null, -- questions with a low best score
    constraint quality_runs_collection_fk foreign key (workspace_id, collection_id)
        references collections (workspace_id, id) on delete cascade
);
create index quality_runs_collection on quality_runs (workspace_id, collection_id, id);

create table quality_questions (
    run_id       uuid not null references quality_runs (id) on delete cascade,
    text_id      bigint not null,
    asked        integer not null,
    clicks       integer not null,
    relevant     integer not null, -- documents
    ndcg         double precision, -- null without a relevant document
    mrr          double precision,
    results      integer not null,
    top_score    double precision, -- null without a result
    primary key (run_id, text_id)
);

grant select, insert, update, delete on quality_runs, quality_questions to magpie_app;
