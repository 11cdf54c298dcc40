package mail

import (
	"bytes"
	"context"
	"fmt"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// ReadMbox reads a mailbox: each mail below a heading of level 1 with its subject, as ReadEML reads it.
// Extra["messages"] is the number of mails. Encrypted and damaged mails are named in "attachments_skipped" by subject
// or number. The error is a *document.LimitError for more mails than document.Limits.MaxEntries, or a
// *document.DamagedError if no mail is readable.
func ReadMbox(ctx context.Context, in document.Source) (*document.Draft, error) {
	in.Limits = in.Limits.WithDefaults()
	content := unixLines(in.Content)
	w := newWriter(ctx, in)
	messages := 0
	for at := 0; at < len(content); {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("parse mailbox: %w", ctx.Err())
		}
		end := nextMessage(content, at)
		message := content[at:end]
		at = end
		if len(bytes.TrimSpace(message)) == 0 {
			continue
		}
		if messages++; messages > in.Limits.MaxEntries {
			return nil, &document.LimitError{Detail: fmt.Sprintf("the mailbox has more than %d mails", in.Limits.MaxEntries)}
		}
		if err := w.message(message, messages); err != nil {
			return nil, err
		}
	}
	if messages > 0 && len(w.blocks) == 0 && len(w.skipped) > 0 {
		if w.encrypted {
			return nil, &document.EncryptedError{Format: "mailbox"}
		}
		return nil, &document.DamagedError{Format: "mailbox", Detail: "no mail in it can be read"}
	}
	found := w.draft()
	found.Extra["messages"] = messages
	return found, nil
}

// message adds a mail of a mailbox.
func (w *writer) message(content []byte, number int) error {
	content = unescapeFrom(content)
	l, err := readLetter(w.ctx, w.in, content, headerStart(content))
	if _, damaged := err.(*document.DamagedError); damaged { //nolint:errorlint // as readLetter returns it
		w.addSkipped(fmt.Sprintf("mail %d", number), err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	if l.subject == "" {
		l.subject = fmt.Sprintf("Mail %d", number)
	}
	w.hasText, w.encrypted = false, false
	if err := w.letter(l, 1); err != nil {
		return err
	}
	if w.encrypted && !w.hasText {
		w.addSkipped(l.subject, (&document.EncryptedError{Format: formatName}).Error())
	}
	return nil
}

// nextMessage returns the start of the mail after the one at an offset.
func nextMessage(content []byte, at int) int {
	for search := at + 1; search < len(content); {
		next := bytes.Index(content[search:], []byte("\nFrom "))
		if next < 0 {
			break
		}
		start := search + next + 1
		before := content[:start-1]
		before = bytes.TrimSuffix(before, []byte("\r"))
		if line, _ := nextLine(content, start); bytes.HasSuffix(before, []byte("\n")) && isFromLine(line) {
			return start
		}
		search = start
	}
	return len(content)
}

// isFromLine reports whether a line starts a mail: "From address date". The date has a time and a year.
func isFromLine(line []byte) bool {
	if len(line) > 500 {
		return false
	}
	words := bytes.Fields(line)
	if len(words) < 3 {
		return false
	}
	hasTime, hasYear := false, false
	for _, word := range words[2:] {
		hasTime = hasTime || bytes.Count(word, []byte(":")) >= 1 && len(word) >= 4
		hasYear = hasYear || len(word) == 4 && (bytes.HasPrefix(word, []byte("19")) || bytes.HasPrefix(word, []byte("20")))
	}
	return hasTime && hasYear
}

// unescapeFrom removes the mark of escaped "From" lines.
func unescapeFrom(content []byte) []byte {
	if !bytes.Contains(content, []byte("\n>")) {
		return content
	}
	var b bytes.Buffer
	b.Grow(len(content))
	for line := range bytes.Lines(content) {
		if line[0] == '>' && bytes.HasPrefix(bytes.TrimLeft(line, ">"), []byte("From ")) {
			line = line[1:]
		}
		b.Write(line)
	}
	return b.Bytes()
}
