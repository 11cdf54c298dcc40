// Package conversation owns what people do with their conversations: list,
// rename, export and delete them, and rate answers. Package chat writes them.
//
// Allowed imports: ent, internal/usage/analytics, internal/store, and the leaves.
package conversation
