-- +goose Up
-- Members whom a directory has suspended, and what directories say of people and groups by SCIM.

-- modify "memberships" table
ALTER TABLE "memberships" ADD COLUMN "suspended_at" timestamptz NULL;

-- What the directory of a workspace says of a member.
create table directory_users (
    workspace_id uuid not null,
    user_id uuid not null,
    user_name text not null check (length(user_name) between 1 and 320),
    user_name_key text not null, -- in lower case
    external_id text,
    display_name text not null,
    given_name text not null,
    family_name text not null,
    updated_at timestamptz not null,
    primary key (workspace_id, user_id),
    constraint directory_users_member_fk foreign key (workspace_id, user_id) references memberships (workspace_id, user_id) on delete cascade,
    constraint directory_users_name unique (workspace_id, user_name_key),
    constraint directory_users_external_id unique (workspace_id, external_id)
);

-- The groups of the directory of a workspace.
create table directory_groups (
    id uuid primary key,
    workspace_id uuid not null references workspaces (id) on delete cascade,
    name text not null check (length(name) between 1 and 320),
    name_key text not null, -- in lower case
    external_id text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint directory_groups_workspace_id unique (workspace_id, id),
    constraint directory_groups_name unique (workspace_id, name_key)
);

create table directory_group_members (
    workspace_id uuid not null,
    group_id uuid not null,
    user_id uuid not null,
    primary key (group_id, user_id),
    constraint directory_group_members_group_fk foreign key (workspace_id, group_id) references directory_groups (workspace_id, id) on delete cascade,
    constraint directory_group_members_member_fk foreign key (workspace_id, user_id) references memberships (workspace_id, user_id) on delete cascade
);
-- The cascade and the groups of a person look rows up by these columns.
create index directory_group_members_person on directory_group_members (workspace_id, user_id);

-- +goose Down
drop table directory_group_members, directory_groups, directory_users;
alter table memberships drop column suspended_at;
