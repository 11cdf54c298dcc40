// Package markdown reads Markdown (CommonMark with GitHub's tables and the usual extensions) and MDX.
//
// The package may import a Markdown parser, internal/ingest/document, and the compose, frontmatter, htmldoc, inline,
// restructured and sitetemplate packages beside it.
package markdown
