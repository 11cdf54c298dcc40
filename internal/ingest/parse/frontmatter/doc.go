// Package frontmatter reads the facts that stand before the text of a document: front matter in YAML, TOML or JSON, title blocks
// of Pandoc and headers of MultiMarkdown.
//
// The package may import the standard library, and decoders of YAML and TOML.
package frontmatter
