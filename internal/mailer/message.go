package mailer

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/safetext"
)

// Message is a mail of plain text to one address.
type Message struct {
	To      string // an address, with or without a name
	ReplyTo string // where answers go; empty for the sender
	Subject string // one line
	Text    string
	// ID is the Message-ID without angle brackets. The same ID names the same mail.
	ID string
	// InReplyTo and References are message ids with or without angle brackets.
	InReplyTo  string
	References []string
	// Automatic marks the mail as an automatic reply, which nobody's automatic reply
	// answers.
	Automatic bool
	// Headers are more headers by their names; their values are one line.
	Headers map[string]string
}

// Limits of a message.
const (
	maxText       = 1 << 20 // bytes
	maxReferences = 20
	maxHeader     = 900 // bytes of a value
)

var errMessage = errors.New("unusable message")

// field is a header of a mail: its name and its value on one line, of ASCII characters.
type field struct{ name, value string }

// header is the checked header of a message, without subject and date.
type header struct {
	to          mail.Address
	replyTo, id string  // replyTo may be empty
	fields      []field // In-Reply-To, References and what follows them
}

// header checks a message.
func (m Message) header() (header, error) {
	to, err := mail.ParseAddress(m.To)
	if err != nil || strings.ContainsAny(m.To, "\r\n") {
		return header{}, fmt.Errorf("%w: the address of the recipient", errMessage)
	}
	if len(m.Text) > maxText || bracket(m.ID) == "" {
		return header{}, fmt.Errorf("%w: its text or id", errMessage)
	}
	h := header{to: *to, id: bracket(m.ID)}
	if reply, err := mail.ParseAddress(m.ReplyTo); err == nil {
		h.replyTo = oneLine(reply.String())
	}
	add := func(name, value string) {
		if value = oneLine(value); value != "" {
			h.fields = append(h.fields, field{textproto.CanonicalMIMEHeaderKey(name), value})
		}
	}
	add("In-Reply-To", bracket(m.InReplyTo))
	add("References", references(m))
	if m.Automatic {
		add("Auto-Submitted", "auto-replied")
		add("X-Auto-Response-Suppress", "All")
	}
	for _, name := range sortedKeys(m.Headers) {
		add(name, mime.QEncoding.Encode("utf-8", safetext.Line(m.Headers[name])))
	}
	return h, nil
}

func oneLine(value string) string { return safetext.TruncateBytes(safetext.Line(value), maxHeader) }

// render returns a message as it is sent, with CRLF.
func render(m Message, from mail.Address, now time.Time) ([]byte, string, error) {
	h, err := m.header()
	if err != nil {
		return nil, "", err
	}
	var b bytes.Buffer
	for _, f := range append([]field{
		{"From", oneLine(from.String())}, {"To", oneLine(h.to.String())}, {"Reply-To", h.replyTo}, {"Subject", oneLine(mime.QEncoding.Encode("utf-8", safetext.Line(m.Subject)))},
		{"Date", now.Format(time.RFC1123Z)}, {"Message-ID", h.id},
	}, h.fields...) {
		if f.value != "" {
			b.WriteString(f.name + ": " + f.value + "\r\n")
		}
	}
	b.WriteString("MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n")
	w := quotedprintable.NewWriter(&b)
	text := strings.ReplaceAll(strings.ReplaceAll(safetext.Storable(m.Text), "\r\n", "\n"), "\r", "\n")
	if _, err := w.Write([]byte(text)); err != nil {
		return nil, "", fmt.Errorf("write a mail: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, "", fmt.Errorf("write a mail: %w", err)
	}
	return b.Bytes(), h.to.Address, nil
}

func sortedKeys(m map[string]string) []string {
	var out []string
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// bracket returns a message id in angle brackets; empty for one that is no id.
func bracket(id string) string {
	id = strings.Trim(strings.TrimSpace(id), "<>")
	if id == "" || strings.ContainsAny(id, " \t\r\n<>\x00") || len(id) > 250 {
		return ""
	}
	return "<" + id + ">"
}

func references(m Message) string {
	var ids []string
	for _, id := range append(slices.Clone(m.References), m.InReplyTo) {
		if id = bracket(id); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > maxReferences {
		ids = append(ids[:1], ids[len(ids)-maxReferences+1:]...)
	}
	for len(ids) > 2 && len(strings.Join(ids, " ")) > maxHeader {
		ids = slices.Delete(ids, 1, 2)
	}
	return strings.Join(ids, " ")
}
