// Package notion is the connector of Notion: pages, the rows of data sources with
// their properties, comments, and files.
//
// A walk first reads the list of everything that is shared with the integration,
// since the path of a page has the titles of the pages above it, and keeps it in the
// state. Then it lists the pages and their files. A feed reads the search in the
// order of edits, newest first, and compares it with that list.
package notion
