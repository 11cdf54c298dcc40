-- +goose Up
-- Runs that wait for a person, and continue in any worker.
-- modify "agent_runs" table
ALTER TABLE "agent_runs" ADD COLUMN "background" boolean NOT NULL DEFAULT false, ADD COLUMN "attempt" bigint NOT NULL DEFAULT 1, ADD COLUMN "waiting_since" timestamptz NULL;

-- Runs that a worker should continue are looked up by their age.
create index agent_runs_queued on agent_runs (updated_at) where status = 'QUEUED';

-- What a run needs to continue: its transcript, sealed.
create table agent_run_states (
    workspace_id uuid not null,
    run_id uuid primary key,
    state bytea not null,
    updated_at timestamptz not null default now(),
    constraint agent_run_states_tenant_fk
        foreign key (workspace_id, run_id) references agent_runs (workspace_id, id) on delete cascade
);
alter table agent_run_states alter column state set storage external; -- sealed bytes do not compress

-- The calls of a run that act outside of Magpie. One that has started and is not done has an unknown outcome.
create table agent_run_effects (
    workspace_id uuid not null,
    run_id uuid not null,
    call_id text not null,
    tool text not null,
    started_at timestamptz not null default now(),
    done_at timestamptz,
    result bytea, -- sealed
    primary key (run_id, call_id),
    constraint agent_run_effects_tenant_fk
        foreign key (workspace_id, run_id) references agent_runs (workspace_id, id) on delete cascade
);
