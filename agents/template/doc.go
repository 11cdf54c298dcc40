// Package template manages blueprints of agents: the built-in ones, which are
// part of the program, and those of a workspace.
//
// The package may import ent, agents/catalog, internal/store/transaction,
// ent/gid and internal/apierr.
package template
