// Package schema declares the entities: their fields, edges, indexes, policies
// and what GraphQL shows of them. The client in package ent, its GraphQL types
// and the migrations are generated from it. Passages, lexemes and vectors are
// no entities: internal/index writes them with plain SQL.
// It imports ent/rule, ent/gid and internal/viewer.
package schema
