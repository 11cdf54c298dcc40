package mail

import (
	"bytes"
	"context"
	"fmt"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// ReadMbox reads a mailbox: each mail under a heading of level 1 with its subject, as ReadEML reads it. Extra "messages" is
// how many there are. A mail that is encrypted or broken is named in "attachments_skipped" by its subject or number. The
// error is a *document.LimitError for more mails than an archive may have members, a *document.DamagedError for a file
// that begins with none.
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

// message writes one mail of a mailbox.
func (w *writer) message(content []byte, number int) error {
	content = unescapeFrom(content)
	l, err := readLetter(w.ctx, w.in, content, begins(content))
	if _, damaged := err.(*document.DamagedError); damaged { //nolint:errorlint // as readLetter returns it
		w.skip(fmt.Sprintf("mail %d", number), err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	if l.subject == "" {
		l.subject = fmt.Sprintf("Mail %d", number)
	}
	w.said, w.encrypted = false, false
	if err := w.letter(l, 1); err != nil {
		return err
	}
	if w.encrypted && !w.said {
		w.skip(l.subject, (&document.EncryptedError{Format: formatName}).Error())
	}
	return nil
}

// nextMessage returns where the next mail of a mailbox begins after the one at an offset.
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

// isFromLine recognises the line before a mail: "From address date". The date has a time and a year.
func isFromLine(line []byte) bool {
	if len(line) > 500 {
		return false
	}
	words := bytes.Fields(line)
	if len(words) < 3 {
		return false
	}
	time, year := false, false
	for _, word := range words[2:] {
		time = time || bytes.Count(word, []byte(":")) >= 1 && len(word) >= 4
		year = year || len(word) == 4 && (bytes.HasPrefix(word, []byte("19")) || bytes.HasPrefix(word, []byte("20")))
	}
	return time && year
}

// unescapeFrom takes the mark off lines that would begin a mail.
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
