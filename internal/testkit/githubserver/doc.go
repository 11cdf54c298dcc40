// Package githubserver is a GitHub in memory for tests: the REST API
// (version 2022-11-28) and the GraphQL API as far as package connectors/github
// uses them, and git over HTTP for wikis, at the addresses of an Enterprise
// Server (/api/v3, /api/graphql). Its world is changed by methods, as people
// change GitHub. It answers with GitHub's statuses, error bodies, Link headers,
// ETags and rate limits, hides private repositories behind 404, and can be told
// to fail.
//
// Allowed imports: the standard library and golang-jwt/jwt.
package githubserver
