// Package mcp calls the tools of tool servers that speak the Model Context Protocol.
//
// A [Client] belongs to the process and bounds what runs at each server. A [Session]
// is a connection that opens when it is needed; it lists [Tool]s and calls them. An
// [Authorizer] connects a person's account at a server by OAuth.
//
// Servers are not trusted: descriptions and results are cleaned and cut, structured
// results are checked, annotations are hints, and a tool has a [Tool.Pin] by which a
// change is noticed. Nothing that a server names is fetched.
//
// Allowed imports: the protocol's Go SDK, golang.org/x/oauth2, agents/loop, policy and
// arguments, internal/request/breaker and the leaves.
package mcp
