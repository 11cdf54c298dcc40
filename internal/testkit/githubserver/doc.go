// Package githubserver is a GitHub for tests. It serves the parts of the REST API
// (version 2022-11-28) and of the GraphQL API that package connectors/github uses,
// and git over HTTP for wikis, at the paths of an Enterprise Server (/api/v3,
// /api/graphql). It answers with GitHub's statuses, error bodies, Link headers,
// ETags and rate limits, and hides private repositories behind status 404. Tests
// change repositories and inject faults by methods.
//
// Allowed imports: the standard library and golang-jwt/jwt.
package githubserver
