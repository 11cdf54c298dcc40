// Package console writes to terminals and pipes: messages, tables, progress,
// highlighted search results and JSON.
//
// Allowed imports: internal/humanize and golang.org/x/sys.
package console
