-- +goose Up
-- The oldest program that this schema still serves: a program that does not know
-- the step named here refuses to work. A step that takes something away raises
-- it, in its own transaction, to the step since which no program has used it:
--
--     update schema_floor set step = greatest(step, 20261101003600);
create table schema_floor (
    only_row boolean primary key default true check (only_row),
    step     bigint not null
);
insert into schema_floor (step) values (20261101003600);
revoke all on schema_floor from magpie_app;
grant select on schema_floor to magpie_app;

-- Processes compare the steps that were applied with those that they know.
grant select on goose_db_version to magpie_app;
