// Package graph is the GraphQL API: resolvers, one file for each domain, and the server
// with directives, limits, transactions and error codes. Resolvers translate inputs and
// results and call the domain packages, which hold the rules. It may import ent and
// the domain packages, but not rest, worker or cmd.
package graph
