// Package mail reads mails: in Internet Message Format (RFC 5322 and MIME, RFC 2045 to 2049), as Outlook stores them
// (MS-OXMSG over MS-CFB), and mailboxes of many (mbox). Bodies in HTML and attachments are read by the readers of their
// formats, through document.Source.Nested.
//
// The MIME reader is the package's own: one pass over the bytes, with bounds on depth and on the number of parts. Readers
// that recurse by part were measured to take time that doubles with every level of nesting.
//
// The package may import the standard library, golang.org/x/net/html, golang.org/x/text, chardet, internal/ingest/document,
// and the cfb and rtf readers beside it.
package mail
