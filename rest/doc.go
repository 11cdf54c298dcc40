// Package rest answers the REST interface, /v1 by API key and /api/v1 by
// session, as a transport of the GraphQL server: it matches a route, reads path,
// query and body into variables, runs the stored operation of that route in
// process, and reshapes what comes out. It decides nothing about who may do
// what; resolvers and policies do, behind the same operations. From the same
// route table, operations and schema it describes the interface as an OpenAPI
// document.
//
// It imports gqlgen's graphql packages, gqlparser, rs/cors and the leaves
// rest/openapi, internal/apierr, viewer, authn, ratelimit, requestid and
// storedop; not ent and not graph.
package rest
