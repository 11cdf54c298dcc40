// Package wordmodel holds what the readers of Word's formats (DOCX, DOC, RTF) have in common: how text looks, fields, numbers and
// lists, the meaning of styles, tables, and how paragraphs become blocks. The readers decode their files into this model, and the
// model writes Markdown.
//
// The package may import the standard library, internal/ingest/document and internal/safetext.
package wordmodel
