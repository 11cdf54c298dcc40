// Package console writes to terminals and pipes: messages, tables, progress,
// highlighted search results and JSON.
//
// Allowed imports: internal/humanize, golang.org/x/term and
// golang.org/x/text.
package console
