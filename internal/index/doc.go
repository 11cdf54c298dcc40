// Package index writes what is searched: documents with their text, passages,
// vectors and lexemes, in plain SQL, one transaction a document or a group of new
// ones. The old version of a document answers until the new one commits. Every call takes a
// viewer.Scope, and every write of a sync job the job's attempt as a fence.
//
// The package may import pgx and pgvector, internal/viewer, ent/gid,
// internal/apierr, internal/ingest/passage, internal/store/replica and
// internal/analysis.
package index
