// Package wire creates and connects the parts of a process from its settings: the
// stores, the domain packages, the GraphQL schema and the executor of operations
// in process.
//
// Allowed imports: everything below internal, connectors, graph, rest and worker.
// Only cmd and tests import it.
package wire
