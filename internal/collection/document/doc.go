// Package document owns what people do with single documents: list, read,
// summarize, delete and restore them. Syncs write documents through
// internal/index.
//
// Allowed imports: ent, internal/audit, internal/identity/authn,
// internal/identity/principal, internal/index, internal/store, and the leaves.
package document
