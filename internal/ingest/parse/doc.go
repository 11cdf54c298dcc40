// Package parse reads the bytes of a file into a document: a title, facts, and the text as a flat list of blocks (headings,
// paragraphs, lists, tables, code, quotations) in reading order. The package itself identifies the format, calls its reader,
// applies the limits and derives facts. Each format has a package of its own below this one; the table in table.go lists them
// all.
//
// # Formats
//
// The content decides the format first (a PDF named .md is a PDF), then the extension, then the media type that the source
// gave. A format that is not read is an *document.UnsupportedError, which is a fact about the file and no fault. Any other
// error says what is wrong with a file of a format that is read, and where.
//
// # Derived facts
//
// Facts that the file does not state are derived from its path. A folder named after a language (de, zh-CN) gives the
// language. A folder named after a version (v3.4, 1.2, latest, or a bare number after a language or a general folder) gives the
// version. The section is the first folder after these. Where no folder follows them, or there are none, it is the first other
// folder that is no general name such as docs.
//
// The type of a document comes from, in this order: the front matter field "type"; the words faq, glossary, changelog,
// troubleshooting, api, reference or guide in the file name, then in the folders; code, data or config by format; else it is
// "document". If nothing states the language, it is detected from the text, and stays empty in doubt.
//
// The package may import internal/ingest/document, and the packages below it. These import each other in one direction only:
// readers of formats import readers of formats that occur inside their own, and all import the shared packages ascii, charset,
// compose, datatext, datatree, frontmatter, inline, language, letter, sitetemplate, xmlscan, zipfile and cfb.
package parse
