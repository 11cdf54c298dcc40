// Package search finds the passages that answer a question: words by BM25 over
// our own lexemes, meaning by vectors, both out of PostgreSQL, fused into one
// confidence from 0 to 1. Filters and tenancy are applied before anything is
// scored or cut off.
//
// The package may import pgx and pgvector, internal/search/analysis,
// internal/embed, internal/index, internal/viewer and internal/apierr.
package search
