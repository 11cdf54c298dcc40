// Package catalog manages the agents of a workspace: their prompts, the tools
// that they may call and the collections that they may search. It also lists
// the available tools, which package agents/tools implements.
//
// The package may import agents/policy, ent, internal/store/transaction, internal/viewer and
// internal/apierr.
package catalog
