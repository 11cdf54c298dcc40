// Package schema declares the entities: their fields, edges, indexes, policies
// and how GraphQL shows them. The client in package ent, its GraphQL types
// and the migrations are generated from it. Passages, lexemes and vectors are
// not entities: internal/index writes them with plain SQL.
// The package may import ent/rule, ent/gid and internal/viewer.
package schema
