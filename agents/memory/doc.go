// Package memory stores what agents learn over conversations: facts,
// preferences, insights and procedures. A hybrid of vectors and words finds
// them again.
//
// # Ownership
//
// A memory is shared, or belongs to one person. What an agent learns in a run
// belongs to the person who runs it. Nobody else reads, finds or changes it,
// whatever their role: the policy of the entity (ent/rule) enforces this beside
// the queries of this package.
//
// # Vectors
//
// The default embedder embeds a memory before it is stored, outside of any
// transaction. If that fails, or another embedder has become the default, words
// find the memory until the next search embeds it again.
//
// The package may import ent, internal/store/transaction, internal/model/embed,
// internal/analysis, internal/safetext, internal/viewer and internal/apierr.
package memory
