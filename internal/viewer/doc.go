// Package viewer says who the caller is. The identity enters the context once, at
// the edge of the process. ent's policies, the search and index packages (through a
// Scope), and the tools of agents read it from there.
//
// Allowed imports: none of Magpie.
package viewer
