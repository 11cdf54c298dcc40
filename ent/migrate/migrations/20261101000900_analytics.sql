-- +goose Up
-- What was asked and what came of it (package analytics). The log and the events
-- are rows of their own; what the dashboard reads are counts a day, which are
-- kept beside them: a report costs what its days cost, not what was asked.

-- The texts of questions, scrubbed, each once in a workspace. An id is a hash
-- of the text's form for grouping. The counts are of all days that are kept:
-- they only choose the texts that are worth counting for a report.
create table query_texts (
    workspace_id uuid not null references workspaces (id) on delete cascade,
    id           bigint not null,
    text         text not null,
    last_day     date not null,
    queries      bigint not null,
    zero_results bigint not null,
    primary key (workspace_id, id)
);
create index query_texts_queries on query_texts (workspace_id, queries desc);
create index query_texts_zero_results on query_texts (workspace_id, zero_results desc) where zero_results > 0;
create index query_texts_day on query_texts (last_day);

-- A row a search or question. It names nobody.
create table query_log (
    id              uuid primary key, -- version 7: in the order of time
    workspace_id    uuid not null references workspaces (id) on delete cascade,
    at              timestamptz not null,
    request_id      text not null,
    surface         text not null,
    kind            text not null,
    api_key_id      uuid,
    collection_id   uuid, -- null: all that the caller reached
    text_id         bigint, -- null: no text is kept
    language        text,
    results         integer not null,
    top_score       real,
    filters         text[] not null,
    next_page       boolean not null,
    took_ms         real not null,
    bucket          smallint not null, -- of took_ms in query_stats
    conversation_id uuid,
    sourced         boolean, -- null for searches, and for answers that broke off
    clicked         boolean not null default false,
    constraint query_log_collection_fk foreign key (workspace_id, collection_id)
        references collections (workspace_id, id) on delete cascade
);
create index query_log_request on query_log (workspace_id, request_id);
create index query_log_collection on query_log (workspace_id, collection_id) where collection_id is not null;
create index query_log_texts on query_log (id) where text_id is not null;

-- Clicks and feedback, joined to the log by request.
create table query_events (
    id            uuid primary key, -- version 7
    workspace_id  uuid not null references workspaces (id) on delete cascade,
    api_key_id    uuid not null,
    event_hash    bytea, -- of the client's own id
    request_id    text not null,
    type          text not null,
    passage_id    uuid,
    document_id   uuid,
    position      integer,
    rating        text,
    reason        text,
    comment       text,
    occurred_at   timestamptz not null,
    counted       boolean not null default false, -- its request is in the log, and it in the counts
    collection_id uuid, -- of that request
    constraint query_events_collection_fk foreign key (workspace_id, collection_id)
        references collections (workspace_id, id) on delete cascade
);
create unique index query_events_once on query_events (workspace_id, api_key_id, event_hash) where event_hash is not null;
create index query_events_waiting on query_events (workspace_id, request_id) where not counted;
create index query_events_collection on query_events (workspace_id, collection_id) where collection_id is not null;
create index query_events_comments on query_events (id) where comment is not null;

-- Counts of a day in UTC. A next page counts in pages alone.
create table query_stats (
    workspace_id     uuid not null references workspaces (id) on delete cascade,
    day              date not null,
    kind             text not null,
    surface          text not null,
    api_key_id       uuid,
    collection_id    uuid,
    bucket           smallint not null, -- of times: 8 to the doubling
    queries          integer not null,
    pages            integer not null,
    zero_results     integer not null,
    clicks           integer not null,
    clicked          integer not null, -- queries with a click
    ranked_clicks    integer not null, -- clicks that name a position
    reciprocal_ranks double precision not null, -- sum of theirs
    positive         integer not null,
    negative         integer not null,
    constraint query_stats_key unique nulls not distinct (workspace_id, day, kind, surface, api_key_id, collection_id, bucket),
    constraint query_stats_collection_fk foreign key (workspace_id, collection_id)
        references collections (workspace_id, id) on delete cascade
);
create index query_stats_day on query_stats (day);
create index query_stats_collection on query_stats (workspace_id, collection_id) where collection_id is not null;

-- Counts of a day by text. The key holds the counts, too: those of one text are
-- read from it alone, side by side.
create table query_text_days (
    workspace_id  uuid not null references workspaces (id) on delete cascade,
    day           date not null,
    text_id       bigint not null,
    kind          text not null,
    api_key_id    uuid,
    collection_id uuid,
    queries       integer not null,
    zero_results  integer not null,
    clicks        integer not null,
    scored        integer not null, -- queries with a score
    scores        double precision not null, -- sum of their best ones
    last_at       timestamptz not null,
    constraint query_text_days_key unique nulls not distinct (workspace_id, text_id, day, kind, api_key_id, collection_id)
        include (queries, zero_results, clicks, scored, scores, last_at),
    constraint query_text_days_collection_fk foreign key (workspace_id, collection_id)
        references collections (workspace_id, id) on delete cascade
);
create index query_text_days_day on query_text_days (day, workspace_id);
create index query_text_days_collection on query_text_days (workspace_id, collection_id) where collection_id is not null;

grant select, insert, update, delete on query_texts, query_log, query_events, query_stats, query_text_days to magpie_app;
