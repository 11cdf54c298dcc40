// Package compose puts blocks of a document together: list items, quotations, table cells and grids, blocks of code. It also
// holds the bounds that the readers of text formats share.
//
// The package may import internal/ingest/document, and the inline package beside it.
package compose
