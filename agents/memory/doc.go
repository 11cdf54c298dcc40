// Package memory keeps what an agent learnt over conversations: facts,
// preferences, insights and procedures, found again by meaning and by words.
//
// # Whose a memory is
//
// A memory is everybody's, or one person's. What an agent learns in a run is
// that of the person who runs it, and nobody else ever reads, finds or changes
// it, whatever their role: the entity's policy (ent/rule) says so, not only
// this package's queries.
//
// # Vectors
//
// A memory is embedded by the default embedder before it is stored, outside of
// any transaction. Where that fails, or the default embedder is another one by
// now, the memory is found by its words until the next search embeds it anew.
//
// The package may import ent, internal/model/embed, internal/analysis,
// internal/viewer and internal/apierr.
package memory
