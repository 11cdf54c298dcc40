// Package viewer says who is asking. Identity enters the context once, at the
// edge, and everything below reads it here: ent's policies, the search and
// index packages (through a Scope), the tools of agents.
// It imports nothing of Magpie.
package viewer
