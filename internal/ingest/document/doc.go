// Package document is the model of a document that every reader of a format fills and that cutting, embedding and
// indexing read: blocks in reading order with their headings, pages and Anchors, what the file says about itself, and
// Markdown as the text form of all of it. It also holds what readers share: limits, the budget of one file, and the errors
// by which a file is skipped or fails.
//
// The package may import the standard library only.
package document
