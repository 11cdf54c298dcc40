// Package catalog keeps the agents of a workspace: what each is told, which
// tools it may call and which collections it may search. It lists the tools
// that there are; package agents/tools does their work.
//
// The package may import ent, internal/store/transaction, internal/viewer and
// internal/apierr.
package catalog
