-- +goose Up
-- The texts of documents are compressed by LZ4, which takes less time than the method of
-- before; texts that are stored stay as they are. A PostgreSQL that was built without LZ4
-- keeps that method.
-- +goose StatementBegin
do $$
begin
    for n in 0..15 loop
        execute format('alter table %I alter column body set compression lz4', 'document_texts_p' || n);
    end loop;
exception when feature_not_supported then
    raise notice 'this PostgreSQL has no LZ4: texts are compressed as before';
end
$$;
-- +goose StatementEnd
