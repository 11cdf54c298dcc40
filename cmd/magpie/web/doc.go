// Package web serves Magpie over HTTP: GraphQL with its transports, the REST
// interface (a transport of the same server), the scripts for websites, health,
// metrics, the dashboard, and in development a playground for GraphQL and the widget.
//
// Allowed imports: gqlgen's handler packages, websocket, the folder dashboard,
// cmd/magpie/metrics, and the leaves internal/apierr, viewer, ratelimit, accesslog,
// requestid, safetext, config and widget.
package web
