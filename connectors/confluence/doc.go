// Package confluence is the connector to Confluence, Cloud and Data Center:
// pages, blog posts and their attachments, with their comments when that is
// asked for, and who may read them.
//
// Cloud is walked with version 2 of its REST interface, and one search a list
// of pages for what that does not tell in lists (labels, attachments, marks of
// comments). Data Center is walked with /rest/api/content. Pages come in
// Confluence's storage format and are given as HTML.
//
// Allowed imports: connectors, connectors/restapi, golang.org/x/net/html and
// golang.org/x/sync.
package confluence
