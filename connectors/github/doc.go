// Package github is the kind of connector for repositories at GitHub and GitHub
// Enterprise Server: files, issues, pull requests, discussions and wikis.
//
// Lists are asked for with the ETags that the notes keep, so that what did not
// change costs no requests of the hourly limit. Methods implemented: those of
// the REST API (version 2022-11-28), of the GraphQL API for discussions, and
// git's own protocol for wikis (package gitwire).
//
// Allowed imports: connectors, connectors/glob, connectors/restapi and what is below this one.
package github
