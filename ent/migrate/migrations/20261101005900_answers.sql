-- +goose Up
-- Answers of chats whose readers can lose the connection and go on, on any server. A row and its events stay for a short
-- while after the end.
create table answers (
    id uuid not null primary key,
    workspace_id uuid not null,
    subject_id uuid not null,
    attempt bigint not null default 1,
    heartbeat_at timestamptz not null default now(),
    created_at timestamptz not null default now(),
    ended_at timestamptz,
    constraint answers_workspace_fk foreign key (workspace_id) references workspaces (id) on delete cascade,
    unique (workspace_id, id)
);
create index answers_subject on answers (workspace_id, subject_id, created_at);
create index answers_open on answers (heartbeat_at) where ended_at is null;
create index answers_ended on answers (ended_at) where ended_at is not null;

create table answer_events (
    workspace_id uuid not null,
    answer_id uuid not null,
    seq bigint not null check (seq > 0),
    type text not null,
    data jsonb not null,
    created_at timestamptz not null default now(),
    primary key (answer_id, seq),
    constraint answer_events_tenant_fk foreign key (workspace_id, answer_id) references answers (workspace_id, id) on delete cascade
);
