package mail

import (
	"bytes"
	"context"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

const formatName = "mail"

// ReadEML reads a mail: its subject as a heading of level 1, under it who wrote it to whom and when, and its text, then
// its attachments, each under a heading of level 2 with its name and read by the rules of its format. The text is the page
// where there is one, unless the plain text says more.
//
// Extra has message_id, from, to, cc, in_reply_to, the names of the attachments that were read as "attachments", and
// "name: reason" of those that were not as "attachments_skipped"; pictures in the text that are not read go without
// saying. Only limits of the whole file and the end of the context make an attachment's error that of the mail. The error
// is a *document.EncryptedError where nothing can be read without a key, a *document.DamagedError for what is no mail.
func ReadEML(ctx context.Context, in document.Source) (*document.Draft, error) {
	in.Limits = in.Limits.WithDefaults()
	content := unixLines(in.Content)
	l, err := readLetter(ctx, in, content, begins(content))
	if err != nil {
		return nil, err
	}
	return newWriter(ctx, in).single(l)
}

// unixLines gives content line feeds that has nothing but carriage returns.
func unixLines(content []byte) []byte {
	if bytes.IndexByte(content, '\n') >= 0 || bytes.IndexByte(content, '\r') < 0 {
		return content
	}
	return bytes.ReplaceAll(content, []byte("\r"), []byte("\n"))
}

// readLetter reads the mail at an offset.
func readLetter(ctx context.Context, in document.Source, content []byte, at int) (*letter, error) {
	root, cut, err := readEntity(ctx, content, at, in.Limits)
	if err != nil {
		return nil, err
	}
	if !root.header.isMail() {
		return nil, &document.DamagedError{Format: formatName, Detail: "it has no header"}
	}
	l, err := fromEntity(ctx, in.Limits, root)
	if err != nil {
		return nil, err
	}
	if cut {
		l.broken = "the mail ends before its last part does"
	}
	return l, nil
}
