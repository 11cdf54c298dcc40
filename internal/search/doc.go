// Package search answers searches. For each collection in reach it asks the
// tier that has it: the index in memory (internal/search/resident), or
// PostgreSQL (internal/search/postgres) for a collection that is too large or
// still being loaded. The order of results is made by internal/search/rank, the
// same for both. Filters and tenancy are applied before anything is scored or
// cut off.
//
// The package may import pgx, internal/search/..., internal/model/embed,
// internal/index, internal/model/rerank, internal/viewer and internal/apierr.
package search
