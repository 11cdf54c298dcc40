// Package collection owns the collections of a workspace: how they are created,
// changed, counted and deleted, and which of them a caller may ask. Their
// documents are in package document below.
//
// Allowed imports: ent, internal/connector, internal/index, internal/model/embed,
// internal/queue, internal/store, and the leaves.
package collection
