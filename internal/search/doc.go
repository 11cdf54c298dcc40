// Package search answers queries over the collections in a scope. Each collection is
// searched in one of three tiers: in memory (internal/search/resident), in PostgreSQL
// (internal/search/postgres) if the collection is too large or still being loaded, or, if a
// distributed engine has the collection, by candidates of the engine (internal/search/engine).
// internal/search/rank orders the results of all tiers alike. Filters and tenancy apply
// before anything is scored or truncated.
//
// The package may import pgx, internal/search/..., internal/model/embed,
// internal/index, internal/ingest/document, internal/ingest/passage, internal/model/rerank,
// internal/request/fair, internal/store/replica, internal/viewer and internal/apierr.
package search
