-- +goose Up
create extension if not exists vector;

-- The application works as this role: neither owner nor superuser, so that
-- row-level security binds it. It has no login of its own here.
-- +goose StatementBegin
do $$
begin
    if not exists (select from pg_roles where rolname = 'magpie_app') then
        create role magpie_app nologin nosuperuser nobypassrls;
    end if;
exception when duplicate_object or unique_violation then
    null; -- another database of this server made it at the same moment
end
$$;
-- +goose StatementEnd

-- Whoever owns the schema may become the application.
-- +goose StatementBegin
do $$
begin
    if not pg_has_role(current_user, 'magpie_app', 'member') then
        execute format('grant magpie_app to %I', current_user);
    end if;
end
$$;
-- +goose StatementEnd

grant usage on schema public to magpie_app;
alter default privileges in schema public grant select, insert, update, delete on tables to magpie_app;
alter default privileges in schema public grant usage, select on sequences to magpie_app;
