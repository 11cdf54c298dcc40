// Package mcp serves the Model Context Protocol at /mcp, so that assistants and
// editors search and read what Magpie keeps. It is a transport of the GraphQL
// server, as package rest is: each tool, resource and prompt runs a stored
// operation as the caller, so that permissions, quotas and the query log hold. The
// server keeps no sessions: any process answers any request.
//
// It imports gqlgen's graphql packages, gqlparser, rs/cors, the protocol's Go SDK
// and the leaves internal/apierr, viewer, authn, ratelimit, accesslog, requestid and storedop;
// not ent and not graph.
package mcp
