// Package live serves GraphQL operations that go on: over WebSocket in the
// graphql-transport-ws protocol, and as server-sent events. It bounds how many
// there are, ends those of people who are signed out, cuts readers off who do
// not read, and sends everybody to another process when this one stops.
//
// Allowed imports: gqlgen's graphql package, websocket, the package
// body, and the leaves internal/apierr and internal/viewer.
package live
