// Package document is the model of a document, which readers of formats fill and which is split, embedded and indexed:
// blocks in reading order with headings, pages and anchors, the properties of the file, and the document as Markdown.
// It also has what readers share: limits, the budget of a file, and the errors by which a file is skipped or fails.
//
// The package may import the standard library and internal/safetext.
package document
