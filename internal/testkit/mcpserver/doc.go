// Package mcpserver is a tool server of the Model Context Protocol with an authorization
// server, for tests. Clients register themselves, are known by their metadata document, or
// were registered by hand; they use PKCE, and refresh tokens work once.
//
// Allowed imports: the protocol's Go SDK.
package mcpserver
