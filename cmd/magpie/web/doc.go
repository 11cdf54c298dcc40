// Package web serves Magpie over HTTP: GraphQL with its transports, the REST
// routes (which are a transport of the same server), the scripts for websites,
// health, metrics, and in development pages to try GraphQL and the widget on.
//
// Allowed imports: gqlgen's handler packages, prometheus, websocket,
// and the leaves internal/apierr, viewer, ratelimit, requestid, config and widget.
package web
