// Package web serves Magpie over HTTP: GraphQL with its transports, the REST
// routes (which are a transport of the same server), health, metrics, and in
// development a page to try GraphQL on.
//
// Allowed imports: gqlgen's handler packages, prometheus, websocket,
// and the leaves internal/apierr, viewer, ratelimit, requestid and config.
package web
