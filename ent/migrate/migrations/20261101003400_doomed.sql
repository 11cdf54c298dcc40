-- +goose Up
-- What searches remember of a collection counts until it has a change that they
-- must see: the end of a connector is one.
-- +goose StatementBegin
create or replace function magpie_connector_doomed() returns trigger
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    update collection_state set change_number = change_number + 1, required_number = change_number + 1
    where collection_id = new.collection_id;
    return null;
end
$$;
-- +goose StatementEnd
