-- +goose Up
-- What searches remember of a collection counts for one change number: with a
-- connector whose documents nobody is to see any more, it is over.
-- +goose StatementBegin
create function magpie_connector_doomed() returns trigger
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    update collection_state set change_number = change_number + 1 where collection_id = new.collection_id;
    return null;
end
$$;
-- +goose StatementEnd
create trigger connector_doomed after update of deleting_at on connectors
    for each row when (old.deleting_at is null and new.deleting_at is not null)
    execute function magpie_connector_doomed();
