// Package notionserver imitates Notion's API in the version 2026-03-11, from Notion's
// published description: search, pages, databases, data sources, blocks, Markdown,
// comments and the host of files. The times of edits are in minutes, and the search
// can omit pages. Tests change the content while the server runs.
//
// Allowed imports: the standard library.
package notionserver
