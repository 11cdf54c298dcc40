// Package mail reads mails: in Internet Message Format (RFC 5322, and MIME in RFC 2045 to 2049), Outlook messages
// (MS-OXMSG in MS-CFB), and mailboxes (mbox). The readers of their formats read HTML bodies and attachments, through
// document.Source.Nested.
//
// The package has its own MIME reader, which makes one pass over the bytes with limits on depth and on the number of
// parts. In measurements, recursive readers took time that doubles with each level of nesting.
//
// The package may import the standard library, golang.org/x/net/html, golang.org/x/text, chardet,
// internal/ingest/document, internal/safetext, and the packages cfb and rtf beside it.
package mail
