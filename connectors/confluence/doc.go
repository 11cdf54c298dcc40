// Package confluence is the connector for Confluence, Cloud and Data Center:
// pages, blog posts, their attachments and comments, and their readers.
//
// Cloud is walked with version 2 of its REST API, and one search for each list
// of pages returns what that version does not list: labels, attachments and the
// versions of comments. Data Center is walked with /rest/api/content. Pages are
// in Confluence's storage format and are converted to HTML.
//
// Allowed imports: connectors, connectors/restapi and golang.org/x/net/html.
package confluence
