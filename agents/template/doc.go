// Package template keeps blueprints of agents: built-in ones, which are part of
// the program, and a workspace's own.
//
// The package may import ent, agents/catalog, internal/store/transaction,
// ent/gid and internal/apierr.
package template
