// Package postgres is the tier that searches collections in PostgreSQL: those that are
// too large for memory, and those whose resident index is being loaded. Each search is
// one read-only transaction with one snapshot of the database. All rows come from
// database functions that are bound to the transaction's workspace and apply the filter
// before any limit.
//
// Filters, scores, matches and similarities are exact. The choice of candidates is exact
// too if the words of a query are rare and the collection has no search indexes
// (index.BuildIndexes). Otherwise a search reads as many passages as its budget allows
// (Options).
//
// The package may import pgx and pgvector, internal/index, internal/search/rank and
// internal/store/replica.
package postgres
