// Package reembed changes the embedding models of collections. It works through a
// collection in slices: every passage gets a vector of the next model, then the
// collection switches, then the vectors move to their place. Each step is a short
// transaction that may be repeated, even by two workers at a time. The remaining
// work is found in PostgreSQL, so a killed worker loses one slice at most. Search
// and syncs continue meanwhile.
//
// Allowed imports: internal/model/embed, internal/model/llm/provider,
// internal/index, internal/ingest, internal/queue and the leaves.
package reembed
