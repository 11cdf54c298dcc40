-- +goose Up
-- The members of archives, by the source id of their archive (package member).
CREATE INDEX sync_items_member ON sync_items (connector_id, (substring(source_id from '^(.*)!/')))
    WHERE substring(source_id from '^(.*)!/') IS NOT NULL;
CREATE INDEX documents_member ON documents (connector_id, (substring(source_id from '^(.*)!/')))
    WHERE substring(source_id from '^(.*)!/') IS NOT NULL;

-- +goose Down
DROP INDEX documents_member;
DROP INDEX sync_items_member;
