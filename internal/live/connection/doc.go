// Package connection serves GraphQL subscriptions over WebSocket, in the protocol
// graphql-transport-ws, and as server-sent events. It bounds the number of open
// connections and operations, closes those of ended sessions and of clients that do
// not read, and sends clients to another process when this one stops.
//
// Allowed imports: gqlgen's graphql package, websocket, internal/apierr,
// internal/request/accesslog, internal/request/body and internal/viewer.
package connection
