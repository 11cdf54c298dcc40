-- +goose Up
-- One index said all that the other one did, and each document was written to
-- both. It keeps its age: see 002600 on the newest of indexes.
drop index document_connector_id_status;
alter index documents_connector_status rename to document_connector_id_status;
