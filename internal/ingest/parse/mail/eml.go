package mail

import (
	"bytes"
	"context"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

const formatName = "mail"

// ReadEML reads a mail: its subject as a heading of level 1, below it sender, recipients and date, then its text, then
// its attachments. Each attachment is below a heading of level 2 with its name, as the reader of its format returns it.
// The text is the HTML page if there is one, unless the plain text is longer.
//
// Extra has message_id, from, to, cc and in_reply_to, the names of the attachments that were read as "attachments", and
// "name: reason" of others as "attachments_skipped", without pictures in the text. The error of an attachment is that
// of the mail only for a limit of the whole file or the end of the context. The error is a *document.EncryptedError if
// nothing is readable without a key, or a *document.DamagedError if the file is no mail.
func ReadEML(ctx context.Context, in document.Source) (*document.Draft, error) {
	in.Limits = in.Limits.WithDefaults()
	content := unixLines(in.Content)
	l, err := readLetter(ctx, in, content, headerStart(content))
	if err != nil {
		return nil, err
	}
	return newWriter(ctx, in).single(l)
}

// unixLines replaces carriage returns in content without line feeds.
func unixLines(content []byte) []byte {
	if bytes.IndexByte(content, '\n') >= 0 || bytes.IndexByte(content, '\r') < 0 {
		return content
	}
	return bytes.ReplaceAll(content, []byte("\r"), []byte("\n"))
}

// readLetter reads the mail at an offset.
func readLetter(ctx context.Context, in document.Source, content []byte, at int) (*letter, error) {
	root, isTruncated, err := readEntity(ctx, content, at, in.Limits)
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
	if isTruncated {
		l.damage = "the mail ends before its last part does"
	}
	return l, nil
}
