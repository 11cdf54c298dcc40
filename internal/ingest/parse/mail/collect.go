package mail

import (
	"context"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/safetext"
)

// A collector collects the parts of a mail in a letter.
type collector struct {
	ctx    context.Context
	limits document.Limits
	letter *letter
	depth  int // of nested signed messages
}

// fromEntity returns a mail as a letter.
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
		// The time at the first server is a good substitute.
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

// messageID returns an id without its brackets.
func messageID(value string) string {
	value = decodeHeader(value)
	if _, rest, found := strings.Cut(value, "<"); found {
		value, _, _ = strings.Cut(rest, ">")
	}
	return safetext.TruncateBytes(value, 500)
}

// collected are the texts and files of a part.
type collected struct {
	bodies []body
	files  []file
}

func (c *collected) add(other collected) {
	c.bodies = append(c.bodies, other.bodies...)
	c.files = append(c.files, other.files...)
}

// collect returns the texts and files of a part. Their depth is bounded by readEntity.
func (c *collector) collect(e *entity) (collected, error) {
	if e.isMultipart() {
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
		return c.cms(e)
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

// isRoot reports whether an entity is a mail, which has fields that parts do not have.
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

// fileName returns the file name of a part, without a path.
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

// textBody returns the body of a text part. It is false for other parts.
func textBody(e *entity) (collected, bool) {
	var b body
	switch e.kind {
	case "text/plain", "text", "message/delivery-status", "message/disposition-notification", "message/feedback-report":
		b.plain = e.text()
		b.flowed = strings.EqualFold(e.parameters["format"], "flowed")
		b.delSp = strings.EqualFold(e.parameters["delsp"], "yes")
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
	if !b.isEmpty() {
		found.bodies = []body{b}
	}
	return found, true
}

// htmlPart returns a page. If the part declares its encoding, the page is converted to UTF-8.
func htmlPart(e *entity) (page []byte, kind string) {
	label := e.parameters["charset"]
	content := e.content()
	switch strings.ToLower(label) {
	case "", "us-ascii", "unknown-8bit":
		return content, "text/html"
	}
	return []byte(decodeText(content, label)), "text/html; charset=utf-8"
}

// maxUUFiles is how many files in a text are read.
const maxUUFiles = 20

// uuFiles removes uuencoded files from a text and returns them.
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

// attached returns a part as a file.
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

// isTNEF reports whether a file is Outlook's container for data that other programs do not read.
func isTNEF(name, kind string) bool {
	return kind == "application/ms-tnef" || kind == "application/vnd.ms-tnef" || strings.EqualFold(name, "winmail.dat")
}

const tnefReason = "Outlook's container (TNEF) is not read"
