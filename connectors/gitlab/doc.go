// Package gitlab is the connector kind "gitlab": files, issues, merge requests, wikis
// and snippets of projects, at gitlab.com and at self-managed servers from version 13,
// by version 4 of the REST API and, for many files, git's protocol.
//
// Allowed imports: connectors, connectors/restapi, connectors/gitwire and
// connectors/glob.
package gitlab
