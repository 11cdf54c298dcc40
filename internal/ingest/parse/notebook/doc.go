// Package notebook reads Jupyter notebooks.
//
// The package may import internal/ingest/document, and the charset, frontmatter, htmldoc, jsondoc, markdown, restructured and
// sitetemplate packages beside it.
package notebook
