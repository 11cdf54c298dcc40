// Package reembed changes the embedding model of collections. It works through
// a collection in slices: every passage gets a vector of the next model, then
// the collection switches, then the vectors move to their place. Each step is a
// short transaction that may be done twice, by two workers even; what is left
// is found in PostgreSQL, so a killed worker loses nothing but a slice. Search
// and syncs go on meanwhile.
//
// Allowed imports: internal/model/embed, internal/index, internal/ingest,
// internal/queue and the leaves.
package reembed
