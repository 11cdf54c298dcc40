-- +goose Up
-- create "collections" table
CREATE TABLE "collections" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "name" character varying NOT NULL, "description" character varying NULL, "embedding_model" character varying NOT NULL, PRIMARY KEY ("id"));
-- create index "collection_workspace_id_created_at" to table: "collections"
CREATE INDEX "collection_workspace_id_created_at" ON "collections" ("workspace_id", "created_at");
-- create "api_keys" table
CREATE TABLE "api_keys" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "name" character varying NOT NULL, "publishable_hash" bytea NOT NULL, "secret_hash" bytea NOT NULL, "publishable_hint" character varying NOT NULL, "secret_hint" character varying NOT NULL, "allow_all_collections" boolean NOT NULL DEFAULT false, "allowed_collections" jsonb NOT NULL, "default_collection" uuid NULL, "allowed_hosts" jsonb NOT NULL, "allowed_referers" jsonb NOT NULL, "widget_model_id" character varying NULL, "widget_context" character varying NULL, "require_signature" boolean NOT NULL DEFAULT false, "rate_limit_per_minute" bigint NULL, "expires_at" timestamptz NULL, "revoked_at" timestamptz NULL, "last_used_at" timestamptz NULL, PRIMARY KEY ("id"));
-- create index "api_keys_publishable_hash_key" to table: "api_keys"
CREATE UNIQUE INDEX "api_keys_publishable_hash_key" ON "api_keys" ("publishable_hash");
-- create index "api_keys_secret_hash_key" to table: "api_keys"
CREATE UNIQUE INDEX "api_keys_secret_hash_key" ON "api_keys" ("secret_hash");
-- create index "apikey_workspace_id_created_at" to table: "api_keys"
CREATE INDEX "apikey_workspace_id_created_at" ON "api_keys" ("workspace_id", "created_at");
-- create "connectors" table
CREATE TABLE "connectors" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "name" character varying NOT NULL, "type" character varying NOT NULL, "status" character varying NOT NULL DEFAULT 'ACTIVE', "enabled" boolean NOT NULL DEFAULT true, "config" jsonb NOT NULL, "credentials" bytea NULL, "sync_strategy" character varying NOT NULL DEFAULT 'MANUAL', "schedule_interval" character varying NOT NULL DEFAULT '6h', "next_sync_at" timestamptz NULL, "last_sync" timestamptz NULL, "last_error" character varying NULL, "collection_id" uuid NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "connectors_collections_connectors" FOREIGN KEY ("collection_id") REFERENCES "collections" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "connector_next_sync_at" to table: "connectors"
CREATE INDEX "connector_next_sync_at" ON "connectors" ("next_sync_at") WHERE (next_sync_at IS NOT NULL);
-- create index "connector_workspace_id_created_at" to table: "connectors"
CREATE INDEX "connector_workspace_id_created_at" ON "connectors" ("workspace_id", "created_at");
-- create "documents" table
CREATE TABLE "documents" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "source_id" character varying NOT NULL, "path" character varying NOT NULL, "title" text NOT NULL, "url" text NULL, "status" character varying NOT NULL DEFAULT 'PENDING', "section" character varying NULL, "version" character varying NULL, "tags" jsonb NULL, "doc_type" character varying NULL, "language" character varying NULL, "author" character varying NULL, "pages" bigint NULL, "metadata" jsonb NULL, "source_created_at" timestamptz NULL, "source_updated_at" timestamptz NULL, "source_version" character varying NOT NULL DEFAULT '', "content_hash" bytea NULL, "bytes" bigint NOT NULL DEFAULT 0, "passage_count" bigint NOT NULL DEFAULT 0, "failure" character varying NULL, "processed_at" timestamptz NULL, "indexed_at" timestamptz NULL, "deleted_at" timestamptz NULL, "collection_id" uuid NOT NULL, "connector_id" uuid NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "documents_collections_documents" FOREIGN KEY ("collection_id") REFERENCES "collections" ("id") ON UPDATE NO ACTION ON DELETE CASCADE, CONSTRAINT "documents_connectors_documents" FOREIGN KEY ("connector_id") REFERENCES "connectors" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "document_collection_id_status" to table: "documents"
CREATE INDEX "document_collection_id_status" ON "documents" ("collection_id", "status");
-- create index "document_connector_id_path" to table: "documents"
CREATE INDEX "document_connector_id_path" ON "documents" ("connector_id", "path") WHERE (deleted_at IS NULL);
-- create index "document_connector_id_source_id" to table: "documents"
CREATE UNIQUE INDEX "document_connector_id_source_id" ON "documents" ("connector_id", "source_id");
-- create index "document_workspace_id_created_at" to table: "documents"
CREATE INDEX "document_workspace_id_created_at" ON "documents" ("workspace_id", "created_at");
-- create "users" table
CREATE TABLE "users" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "email" character varying NOT NULL, "name" character varying NOT NULL DEFAULT '', "password_hash" character varying NULL, "email_verified" boolean NOT NULL DEFAULT false, PRIMARY KEY ("id"));
-- create index "users_email_key" to table: "users"
CREATE UNIQUE INDEX "users_email_key" ON "users" ("email");
-- create "workspaces" table
CREATE TABLE "workspaces" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "name" character varying NOT NULL, PRIMARY KEY ("id"));
-- create "memberships" table
CREATE TABLE "memberships" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "role" character varying NOT NULL, "user_id" uuid NOT NULL, "workspace_id" uuid NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "memberships_users_memberships" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON UPDATE NO ACTION ON DELETE CASCADE, CONSTRAINT "memberships_workspaces_memberships" FOREIGN KEY ("workspace_id") REFERENCES "workspaces" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "membership_workspace_id_user_id" to table: "memberships"
CREATE UNIQUE INDEX "membership_workspace_id_user_id" ON "memberships" ("workspace_id", "user_id");
-- create "conversations" table
CREATE TABLE "conversations" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "subject_id" uuid NOT NULL, "collection_id" uuid NULL, "title" character varying NOT NULL DEFAULT '', PRIMARY KEY ("id"));
-- create index "conversation_workspace_id_subject_id_updated_at" to table: "conversations"
CREATE INDEX "conversation_workspace_id_subject_id_updated_at" ON "conversations" ("workspace_id", "subject_id", "updated_at");
-- create "messages" table
CREATE TABLE "messages" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "subject_id" uuid NOT NULL, "role" character varying NOT NULL, "content" text NOT NULL, "sources" jsonb NULL, "prompt_tokens" bigint NOT NULL DEFAULT 0, "completion_tokens" bigint NOT NULL DEFAULT 0, "conversation_id" uuid NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "messages_conversations_messages" FOREIGN KEY ("conversation_id") REFERENCES "conversations" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "message_conversation_id_created_at" to table: "messages"
CREATE INDEX "message_conversation_id_created_at" ON "messages" ("conversation_id", "created_at");
-- create "sessions" table
CREATE TABLE "sessions" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "refresh_hash" bytea NOT NULL, "previous_hash" bytea NULL, "expires_at" timestamptz NOT NULL, "revoked_at" timestamptz NULL, "user_id" uuid NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "sessions_users_sessions" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "session_previous_hash" to table: "sessions"
CREATE INDEX "session_previous_hash" ON "sessions" ("previous_hash");
-- create index "session_refresh_hash" to table: "sessions"
CREATE UNIQUE INDEX "session_refresh_hash" ON "sessions" ("refresh_hash");
-- create "source_files" table
CREATE TABLE "source_files" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "path" character varying NOT NULL, "media_type" character varying NOT NULL DEFAULT '', "bytes" bigint NOT NULL, "sha256" character varying NOT NULL, "blob_key" character varying NOT NULL, "connector_id" uuid NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "source_files_connectors_files" FOREIGN KEY ("connector_id") REFERENCES "connectors" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "sourcefile_connector_id_path" to table: "source_files"
CREATE UNIQUE INDEX "sourcefile_connector_id_path" ON "source_files" ("connector_id", "path");
-- create "sync_items" table
CREATE TABLE "sync_items" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "job_id" uuid NOT NULL, "document_id" uuid NULL, "source_id" character varying NOT NULL, "path" character varying NOT NULL, "status" character varying NOT NULL DEFAULT 'PENDING', "added" boolean NOT NULL DEFAULT false, "reason" character varying NULL, "retryable" boolean NOT NULL DEFAULT false, "suppressed" boolean NOT NULL DEFAULT false, "source_version" character varying NOT NULL DEFAULT '', "pipeline_version" bigint NOT NULL DEFAULT 0, "connector_id" uuid NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "sync_items_connectors_items" FOREIGN KEY ("connector_id") REFERENCES "connectors" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "syncitem_connector_id_source_id" to table: "sync_items"
CREATE UNIQUE INDEX "syncitem_connector_id_source_id" ON "sync_items" ("connector_id", "source_id");
-- create index "syncitem_job_id_status" to table: "sync_items"
CREATE INDEX "syncitem_job_id_status" ON "sync_items" ("job_id", "status");
-- create "sync_jobs" table
CREATE TABLE "sync_jobs" ("id" uuid NOT NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "workspace_id" uuid NOT NULL, "status" character varying NOT NULL DEFAULT 'QUEUED', "mode" character varying NOT NULL DEFAULT 'AUTO', "cause" character varying NOT NULL DEFAULT 'MANUAL', "file_filter" jsonb NULL, "collected" bigint NOT NULL DEFAULT 0, "parsed" bigint NOT NULL DEFAULT 0, "indexed" bigint NOT NULL DEFAULT 0, "added" bigint NOT NULL DEFAULT 0, "modified" bigint NOT NULL DEFAULT 0, "deleted" bigint NOT NULL DEFAULT 0, "unchanged" bigint NOT NULL DEFAULT 0, "skipped" bigint NOT NULL DEFAULT 0, "failed" bigint NOT NULL DEFAULT 0, "warnings" jsonb NOT NULL, "error" character varying NULL, "started_at" timestamptz NULL, "finished_at" timestamptz NULL, "attempt" bigint NOT NULL DEFAULT 0, "revision" bigint NOT NULL DEFAULT 0, "cursor" text NOT NULL DEFAULT '', "walked" boolean NOT NULL DEFAULT false, "heartbeat_at" timestamptz NOT NULL, "retries" bigint NOT NULL DEFAULT 0, "cancel_requested" boolean NOT NULL DEFAULT false, "connector_id" uuid NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "sync_jobs_connectors_jobs" FOREIGN KEY ("connector_id") REFERENCES "connectors" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "syncjob_connector_id_created_at" to table: "sync_jobs"
CREATE INDEX "syncjob_connector_id_created_at" ON "sync_jobs" ("connector_id", "created_at");

