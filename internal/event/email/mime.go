package email

import (
	"bytes"
	"encoding/base64"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	maxMIMEDepth = 10
	maxMIMEParts = 500
)

// toUTF8 decodes a text of a charset. An unknown charset is taken for UTF-8.
func toUTF8(text []byte, charset string) string {
	if charset = strings.ToLower(strings.Trim(charset, ` "'`)); charset != "" && charset != "utf-8" && charset != "us-ascii" {
		if encoding, err := htmlindex.Get(charset); err == nil {
			if decoded, err := encoding.NewDecoder().Bytes(text); err == nil {
				return string(decoded)
			}
		}
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// decodeWords decodes the encoded words of a header.
func decodeWords(text string) string {
	d := mime.WordDecoder{CharsetReader: func(charset string, input io.Reader) (io.Reader, error) {
		raw, err := io.ReadAll(input)
		return strings.NewReader(toUTF8(raw, charset)), err
	}}
	out, err := d.DecodeHeader(text)
	if err != nil {
		return text
	}
	return out
}

// parseMIME reads a raw mail.
func parseMIME(raw []byte) (*event.Mail, error) {
	message, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return nil, event.ErrDelivery
	}
	m := &event.Mail{Headers: map[string]string{}}
	// The headers that decide something come first: no number of others displaces them.
	for _, name := range append(slices.Clone(decisive), slices.Sorted(maps.Keys(message.Header))...) {
		if values := message.Header[name]; len(m.Headers) < 200 && len(values) > 0 {
			m.Headers[http.CanonicalHeaderKey(name)] = safetext.TruncateBytes(safetext.Line(decodeWords(values[0])), 2000)
		}
	}
	fromHeaders(m)
	if len(message.Header["From"]) > 1 {
		// What the platform has verified is one of them, and nobody knows which.
		m.From = event.Address{}
	}
	if date, err := message.Header.Date(); err == nil {
		m.Date = date.UTC()
	}
	w := mimeWalk{mail: m}
	w.part(textproto.MIMEHeader(message.Header), message.Body, 0)
	complete(m)
	return m, nil
}

// decisive are the headers from which a mail is filled and judged.
var decisive = []string{
	"From", "To", "Cc", "Subject", "Date", "Message-Id", "In-Reply-To", "References", "Auto-Submitted", "Precedence", "X-Auto-Response-Suppress", "List-Id", "List-Unsubscribe", "Return-Path",
}

// fromHeaders fills a mail from its headers.
func fromHeaders(m *event.Mail) {
	m.MessageID, m.InReplyTo, m.References = m.Headers["Message-Id"], m.Headers["In-Reply-To"], references(m.Headers["References"])
	m.From, m.To, m.CC = parseAddress(m.Headers["From"]), parseAddresses(m.Headers["To"]), parseAddresses(m.Headers["Cc"])
	m.Subject = m.Headers["Subject"]
}

type mimeWalk struct {
	mail  *event.Mail
	parts int
}

func (w *mimeWalk) part(header textproto.MIMEHeader, body io.Reader, depth int) {
	if w.parts++; w.parts > maxMIMEParts || depth > maxMIMEDepth {
		return
	}
	kind, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || kind == "" {
		kind, parameters = "text/plain", map[string]string{}
	}
	if strings.HasPrefix(kind, "multipart/") && parameters["boundary"] != "" {
		reader := multipart.NewReader(body, parameters["boundary"])
		for {
			part, err := reader.NextRawPart()
			if err != nil {
				return
			}
			w.part(part.Header, part, depth+1)
		}
	}
	switch strings.ToLower(strings.TrimSpace(header.Get("Content-Transfer-Encoding"))) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, newlineFilter{body})
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	content, _ := io.ReadAll(body) // what is readable of a broken part
	disposition, more, _ := mime.ParseMediaType(header.Get("Content-Disposition"))
	name := decodeWords(more["filename"])
	if name == "" {
		name = decodeWords(parameters["name"])
	}
	text := toUTF8(content, parameters["charset"])
	switch {
	case disposition != "attachment" && name == "" && kind == "text/plain":
		w.add(&w.mail.Text, text)
	case disposition != "attachment" && name == "" && kind == "text/html":
		w.add(&w.mail.HTML, text)
	default:
		if len(w.mail.Attachments) < maxAttachments {
			w.mail.Attachments = append(w.mail.Attachments, event.Attachment{
				Name: safetext.TruncateBytes(safetext.Line(name), 255), ContentType: kind, ContentID: strings.Trim(header.Get("Content-Id"), "<>"), Size: len(content), Content: content,
			})
		}
	}
}

// add appends a text unless there is already more than is kept.
func (w *mimeWalk) add(to *string, text string) {
	if len(*to) <= maxTextBytes {
		*to += text
	}
}

// newlineFilter drops white space, which base64 of mails has.
type newlineFilter struct{ r io.Reader }

func (f newlineFilter) Read(p []byte) (int, error) {
	for {
		n, err := f.r.Read(p)
		kept := 0
		for _, b := range p[:n] {
			if b > ' ' {
				p[kept] = b
				kept++
			}
		}
		if kept > 0 || err != nil {
			return kept, err //nolint:wrapcheck // io.EOF must stay itself
		}
	}
}
