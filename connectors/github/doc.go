// Package github is the connector for repositories at GitHub and GitHub
// Enterprise Server: files, issues, pull requests, discussions and wikis.
//
// Lists are requested with the ETags in the state, so that unchanged lists do
// not count against the hourly limit. The package uses the REST API (version
// 2022-11-28), the GraphQL API for discussions, and git's protocol for wikis
// (package gitwire).
//
// Allowed imports: connectors, connectors/glob, connectors/gitwire,
// connectors/restapi and internal/safetext.
package github
