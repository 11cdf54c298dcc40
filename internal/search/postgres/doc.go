// Package postgres answers a search's questions about one collection out of
// PostgreSQL: the tier for collections that are too large for memory, and for
// others while their index in memory is being loaded. Each search is one
// transaction that sees one moment. All rows come from functions of the
// database that keep to the transaction's workspace and apply the filter before
// anything is cut off.
//
// What is exact and what is not: filters, scores, hits and similarities always
// are. Which passages are looked at is, too, while the words of a question stand
// in few passages and the collection has no indexes (index.BuildIndexes); beyond
// that a search looks at as many as its budget allows (Options).
//
// The package may import pgx and pgvector, internal/index and
// internal/search/rank.
package postgres
