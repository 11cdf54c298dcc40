package mail

import (
	"context"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/safetext"
)

// collector makes a letter of the parts of a mail.
type collector struct {
	ctx    context.Context
	limits document.Limits
	letter *letter
	depth  int // of mails signed in one block
}

// fromEntity makes a letter of a mail.
func fromEntity(ctx context.Context, limits document.Limits, root *entity) (*letter, error) {
	l := &letter{}
	l.describe(root.header)
	c := collector{ctx: ctx, limits: limits, letter: l}
	found, err := c.collect(root)
	if err != nil {
		return nil, err
	}
	l.bodies, l.files = found.bodies, found.files
	return l, nil
}

// describe reads the header of a mail.
func (l *letter) describe(h header) {
	l.subject = decodeHeader(h["subject"])
	from := addresses(h["from"])
	if len(from) == 0 {
		from = addresses(h["sender"])
	}
	if len(from) > 0 {
		l.author, l.from = from[0].short(), from[0].String()
	}
	_, sender := people(from)
	var to, cc string
	l.to, to = people(addresses(h["to"]))
	l.cc, cc = people(addresses(h["cc"]))
	l.created = parseDate(h["date"])
	date := decodeHeader(h["date"])
	if l.created.IsZero() {
		// The first server that took the mail in is as good a witness.
		if _, received, found := strings.Cut(h["received"], ";"); found {
			l.created = parseDate(received)
		}
	}
	if !l.created.IsZero() {
		date = l.created.Format(dateLayout)
	}
	l.fact("From", sender)
	l.fact("To", to)
	l.fact("Cc", cc)
	l.fact("Date", date)
	l.messageID = messageID(h["message-id"])
	l.inReplyTo = messageID(h["in-reply-to"])
}

// messageID takes the brackets off the id of a mail.
func messageID(value string) string {
	value = decodeHeader(value)
	if _, rest, found := strings.Cut(value, "<"); found {
		value, _, _ = strings.Cut(rest, ">")
	}
	return safetext.TruncateBytes(value, 500)
}

// collected is what is found in a part.
type collected struct {
	bodies []body
	files  []file
}

func (c *collected) add(other collected) {
	c.bodies = append(c.bodies, other.bodies...)
	c.files = append(c.files, other.files...)
}

// collect finds the texts and files in a part. The depth of parts is bounded by their reader.
func (c *collector) collect(e *entity) (collected, error) {
	if e.multipart() {
		return c.multipart(e)
	}
	name := fileName(e)
	disposition, _ := mediaType(e.header["content-disposition"])
	switch {
	case e.tooDeep:
		return collected{files: []file{{name: name, kind: e.kind, reason: "parts are nested too deep"}}}, nil
	case isSignature(e.kind):
		return collected{}, nil
	case e.kind == "application/pgp-encrypted":
		c.letter.encrypted = true
		return collected{}, nil
	case e.kind == "application/pkcs7-mime" || e.kind == "application/x-pkcs7-mime":
		return c.sealed(e)
	case disposition != "attachment" && name == "":
		if found, is := textBody(e); is {
			return found, nil
		}
	case disposition != "attachment" && len(e.header) > 0 && isRoot(e):
		if found, is := textBody(e); is {
			return found, nil
		}
	}
	return collected{files: []file{attached(e, name, disposition)}}, nil
}

// isRoot tells a mail from a part of one, by fields that only mails have.
func isRoot(e *entity) bool {
	_, from := e.header["from"]
	_, date := e.header["date"]
	return from && date
}

func isSignature(kind string) bool {
	switch kind {
	case "application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-keys", "application/applefile":
		return true
	}
	return false
}

// fileName returns the name that a part has as a file, without a path.
func fileName(e *entity) string {
	_, parameters := mediaType(e.header["content-disposition"])
	name := parameters["filename"]
	for _, other := range []string{e.parameters["name"], e.parameters["file"]} {
		if name == "" {
			name = other
		}
	}
	return baseName(name)
}

func baseName(name string) string {
	name = strings.Join(strings.Fields(clean(name)), " ")
	if at := strings.LastIndexAny(name, `/\`); at >= 0 {
		name = name[at+1:]
	}
	return safetext.TruncateBytes(name, 200)
}

// textBody makes a body of a part that is text; false for others.
func textBody(e *entity) (collected, bool) {
	var b body
	switch e.kind {
	case "text/plain", "text", "message/delivery-status", "message/disposition-notification", "message/feedback-report":
		b.plain = e.text()
		b.flowed = strings.EqualFold(e.parameters["format"], "flowed")
		b.deleted = strings.EqualFold(e.parameters["delsp"], "yes")
	case "text/html", "application/xhtml+xml":
		b.html, b.htmlKind = htmlPart(e)
	case "text/enriched", "text/richtext":
		b.plain = markupText(e.text())
	case "text/rtf", "application/rtf":
		b.rtf = e.content()
	default:
		return collected{}, false
	}
	found := collected{}
	if e.kind == "text/plain" {
		found.files = uuFiles(e, &b)
	}
	if !b.empty() {
		found.bodies = []body{b}
	}
	return found, true
}

// htmlPart returns a page, in UTF-8 where its encoding is told outside of it.
func htmlPart(e *entity) (page []byte, kind string) {
	label := e.parameters["charset"]
	content := e.content()
	switch strings.ToLower(label) {
	case "", "us-ascii", "unknown-8bit":
		return content, "text/html"
	}
	return []byte(decodeText(content, label)), "text/html; charset=utf-8"
}

// maxUUFiles is how many files are taken out of a text.
const maxUUFiles = 20

// uuFiles takes the files out of a text that stand in it as text.
func uuFiles(e *entity, b *body) []file {
	if !strings.Contains(b.plain, "begin ") {
		return nil
	}
	var files []file
	text := []byte(b.plain)
	for range maxUUFiles {
		name, content, rest, found := cutUUEncoded(text)
		if !found {
			break
		}
		text = rest
		files = append(files, file{name: baseName(decodeText([]byte(name), e.parameters["charset"])), content: func() []byte { return content }})
	}
	if len(files) > 0 {
		b.plain = string(text)
	}
	return files
}

// attached makes a file of a part.
func attached(e *entity, name, disposition string) file {
	f := file{
		name: name, kind: e.kind, id: messageID(e.header["content-id"]), inline: disposition == "inline",
		content: e.content,
	}
	if label := e.parameters["charset"]; label != "" && strings.HasPrefix(e.kind, "text/") {
		f.kind += "; charset=" + label
	}
	switch e.kind {
	case "message/partial":
		f.reason = "only a part of a mail"
	case "message/external-body":
		f.reason = "stands outside of the mail"
	}
	if isTNEF(name, e.kind) {
		f.reason = tnefReason
	}
	return f
}

// isTNEF recognises the container in that Outlook sends what others have no use for.
func isTNEF(name, kind string) bool {
	return kind == "application/ms-tnef" || kind == "application/vnd.ms-tnef" || strings.EqualFold(name, "winmail.dat")
}

const tnefReason = "Outlook's container (TNEF) is not read"
