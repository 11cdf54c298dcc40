// Package rest serves the REST interface, /v1 by API key and /api/v1 by session,
// as a transport of the GraphQL server. It matches a route, converts path, query
// and body to variables, runs the stored operation of the route in process, and
// converts the result. Authorization happens in resolvers and policies, as for
// GraphQL. The route table, the operations and the schema are also the source of
// the OpenAPI document.
//
// It imports gqlgen's graphql packages, gqlparser, rs/cors and the leaves
// rest/openapi, internal/apierr, viewer, authn, ratelimit, accesslog, requestid and
// storedop; not ent and not graph.
package rest
