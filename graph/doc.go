// Package graph holds the GraphQL resolvers, one file a domain, and the server
// around them: directives, limits, transactions and error codes. Resolvers are
// thin: what they do stands in the domain packages. It may import ent and the
// domain packages, never rest, worker or cmd.
package graph
