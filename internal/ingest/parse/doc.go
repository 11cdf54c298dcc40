// Package parse reads the bytes of one file into a Document: a title, what is known about it, and its text as a flat list
// of blocks (headings, paragraphs, lists, tables, code, quotes) in reading order. One file a format.
//
// # What a document is taken to be
//
// The format is decided by content first (a PDF named .md is a PDF), then by the file's extension, then by the media type
// the source gave. A format that is not read is an *UnsupportedError, which is a fact about the file and no fault. Any
// other error says what is wrong with a file of a format that is read, and where.
//
// # What is derived where the file does not say it
//
// Names are seen as folders and a file. A language folder (de, zh-CN) and a version folder (v3.4, 1.2, latest, or a bare
// number after a language or a general folder) give language and version. The section is the first folder
// after these, or, where nothing follows them or neither is there, the first folder that is neither and is no general name
// such as docs. The type of document is, in this order: front matter "type"; faq, glossary, changelog, troubleshooting,
// api, reference, guide by the words of the file name, then of the folders; code, data or config by format; else
// "document". A language that nobody names is detected from the text, and stays empty when in doubt.
//
// The package may import the standard library and format libraries; no other package of Magpie.
package parse
