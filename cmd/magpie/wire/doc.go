// Package wire connects the parts of a process by hand, from its settings: the
// stores, the domain packages, the GraphQL schema over them, and the runner of
// operations inside the process.
//
// Allowed imports: everything under internal, connectors, graph, rest and
// worker; nothing but cmd and tests imports it.
package wire
