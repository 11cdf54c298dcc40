package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
	"github.com/magpie-search/magpie/internal/ingest/parse/rtf"
)

const outlookName = "Outlook message"

// ReadMSG reads an Outlook message. The document and Extra are like those of ReadEML. The text is the HTML page, which
// may be inside of the RTF, or the RTF itself, unless the plain text is longer. Appointments, tasks and contacts have
// their main facts below the subject. Errors are those of ReadEML and of cfb.Open.
func ReadMSG(ctx context.Context, in document.Source) (*document.Draft, error) {
	in.Limits = in.Limits.WithDefaults()
	m, err := openMessage(in)
	if err != nil {
		return nil, err
	}
	if !m.file.Has("__properties_version1.0") {
		return nil, &document.DamagedError{Format: outlookName, Detail: "it holds no message"}
	}
	m.readNames()
	r := messageReader{ctx: ctx, in: in, message: m}
	l, err := r.letter("", headOfMessage, 0)
	if err != nil {
		return nil, err
	}
	w := newWriter(ctx, in)
	found, err := w.single(l)
	if err == nil && len(w.blocks) == 0 && m.isDamaged() {
		return nil, &document.DamagedError{Format: outlookName, Detail: "none of its texts can be read"}
	}
	return found, err
}

// isDamaged reports whether a stream of the file is unreadable.
func (m *messageFile) isDamaged() bool {
	for _, name := range m.file.Names() {
		if m.file.Size(name) > 0 && len(m.read(name)) == 0 {
			return true
		}
	}
	return false
}

// A messageReader reads the messages of a file.
type messageReader struct {
	ctx     context.Context
	in      document.Source
	message *messageFile
}

// letter reads the message in a storage, at a depth of nested messages.
func (r *messageReader) letter(path string, head, depth int) (*letter, error) {
	if r.ctx.Err() != nil {
		return nil, fmt.Errorf("parse Outlook message: %w", r.ctx.Err())
	}
	s := r.message.open(path, head, defaultCodePage)
	var pageCodePage int
	s.page, pageCodePage = s.codePages()
	l := &letter{subject: s.line(propSubject)}
	if l.subject == "" {
		l.subject = strings.Join(strings.Fields(s.text(propSubjectPrefix)+s.text(propNormalizedSubject)), " ")
	}
	if l.subject == "" {
		l.subject = s.line(propTopic)
	}
	class := strings.ToLower(s.line(propMessageClass))
	if strings.HasPrefix(class, "ipm.contact") && l.subject == "" {
		l.subject = s.line(propDisplayName)
	}
	r.describe(l, s, class)
	b, err := r.body(s, pageCodePage)
	if err != nil {
		return nil, err
	}
	if !b.isEmpty() {
		l.bodies = []body{b}
	}
	if err := r.attachments(l, s, depth); err != nil {
		return nil, err
	}
	if strings.Contains(class, ".smime") {
		if err := r.smime(l); err != nil {
			return nil, err
		}
	}
	return l, r.message.err
}

// describe reads sender, recipients and date.
func (r *messageReader) describe(l *letter, s *storage, class string) {
	headers := []byte(s.text(propTransportHeaders))
	if bytes.HasPrefix(headers, []byte("Microsoft Mail Internet Headers")) {
		_, next := nextLine(headers, 0)
		headers = headers[next:]
	}
	h, _ := readHeader(headers, headerStart(headers), func([]byte) bool { return false })
	from := address{
		name:    cleanName(s.line(propRepresentingName, propSenderName)),
		address: mailbox(s.line(propRepresentingSMTP), s.line(propSenderSMTP), s.line(propRepresentingMail), s.line(propSenderMail)),
	}
	if from.name == from.address {
		from.name = ""
	}
	if list := addresses(h["from"]); len(list) > 0 && (from.address == "" || from.short() == "") {
		from = list[0]
	}
	l.author, l.from = from.short(), from.String()
	to, cc := r.recipients(s)
	if len(to) == 0 && len(cc) == 0 {
		to, cc = addresses(s.line(propDisplayTo)), addresses(s.line(propDisplayCc))
	}
	var toLine, ccLine string
	l.to, toLine = people(to)
	l.cc, ccLine = people(cc)
	l.created = parseDate(h["date"]) // has the time zone of the sender
	if l.created.IsZero() {
		l.created = s.time(propSubmitTime, propDeliveryTime)
	}
	written := l.created
	if l.created.IsZero() {
		l.created = s.time(propCreationTime)
	}
	isPost := strings.HasPrefix(class, "ipm.contact") || strings.HasPrefix(class, "ipm.task") || strings.HasPrefix(class, "ipm.appointment") ||
		strings.HasPrefix(class, "ipm.stickynote")
	if !isPost {
		l.fact("From", l.from)
	}
	if !strings.HasPrefix(class, "ipm.contact") {
		l.fact("To", toLine)
		l.fact("Cc", ccLine)
	}
	if !written.IsZero() && !isPost {
		l.fact("Date", written.Format(dateLayout))
	}
	l.classFacts(s, class)
	l.messageID, l.inReplyTo = messageID(s.line(propMessageID)), messageID(s.line(propInReplyTo))
	if l.messageID == "" {
		l.messageID = messageID(h["message-id"])
	}
	if l.inReplyTo == "" {
		l.inReplyTo = messageID(h["in-reply-to"])
	}
}

// mailbox returns the first Internet address. Exchange addresses mean nothing to people.
func mailbox(candidates ...string) string {
	for _, candidate := range candidates {
		if strings.Contains(candidate, "@") && !strings.HasPrefix(strings.ToUpper(candidate), "/O=") {
			return candidate
		}
	}
	return ""
}

// recipients reads the recipients of a message.
func (r *messageReader) recipients(s *storage) (to, cc []address) {
	for _, folder := range r.message.folders[s.path] {
		if _, name, _ := cutLast(folder); !strings.HasPrefix(name, "__recip_version1.0_") || len(to)+len(cc) >= maxKept {
			continue
		}
		recipient := r.message.open(folder, headOfPart, s.page)
		a := address{name: cleanName(recipient.line(propDisplayName)), address: mailbox(recipient.line(propSMTP), recipient.line(propMail))}
		if strings.EqualFold(a.name, a.address) {
			a.name = ""
		}
		switch {
		case a == address{}:
		case recipient.long(propRecipientType) == recipientCc:
			cc = append(cc, a)
		case recipient.long(propRecipientType) <= recipientTo:
			to = append(to, a)
		}
	}
	return to, cc
}

// body reads the text of a message in all of its forms. An HTML page has its own code page.
func (r *messageReader) body(s *storage, page int) (body, error) {
	b := body{plain: s.text(propBody), htmlKind: "text/html"}
	if strings.TrimSpace(b.plain) == "" {
		b.plain = s.text(propReportText)
	}
	switch html := s.bytes(propHTML); {
	case len(html) == 0:
		if text := s.text(propHTML); text != "" {
			b.html, b.htmlKind = []byte(text), "text/html; charset=utf-8"
		}
	case page != 0 && page != 1200 && (!utf8.Valid(html) || bytes.Contains(html, []byte("\x1b$"))):
		b.html, b.htmlKind = []byte(cfb.Decode(page, html)), "text/html; charset=utf-8"
	default:
		b.html = html
	}
	b.html = bytes.TrimRight(b.html, "\x00")
	compressed := s.bytes(propRTF)
	if len(b.html) > 0 || len(compressed) == 0 {
		return b, nil
	}
	formatted, err := decompressRTF(compressed, r.in.Budget)
	if limit := (*document.LimitError)(nil); errors.As(err, &limit) {
		return b, err
	}
	if html, found := rtf.Encapsulated(formatted); found {
		b.html, b.htmlKind = html, "text/html; charset=utf-8"
		return b, nil
	}
	if strings.TrimSpace(b.plain) == "" || !bytes.Contains(formatted[:min(len(formatted), 500)], []byte(`\fromtext`)) {
		b.rtf = formatted
	}
	return b, nil
}

// attachments reads the attachments of a message.
func (r *messageReader) attachments(l *letter, s *storage, depth int) error {
	for _, folder := range r.message.folders[s.path] {
		if _, name, _ := cutLast(folder); !strings.HasPrefix(name, "__attach_version1.0_") {
			continue
		}
		if len(l.files) >= r.in.Limits.MaxEntries {
			return &document.LimitError{Detail: fmt.Sprintf("the message has more than %d attachments", r.in.Limits.MaxEntries)}
		}
		f, err := r.attachment(r.message.open(folder, headOfPart, s.page), depth)
		if err != nil {
			return err
		}
		l.files = append(l.files, f)
	}
	return nil
}

func (r *messageReader) attachment(a *storage, depth int) (file, error) {
	f := file{
		name: baseName(a.line(propAttachLongName, propAttachName, propDisplayName)), kind: strings.ToLower(a.line(propAttachMediaType)),
		id: messageID(a.line(propAttachContentID)), inline: a.long(propAttachFlags)&attachFlagInPage != 0 || a.long(propAttachHidden) != 0,
	}
	if f.kind == "" && f.inline {
		f.kind = imageKind(f.name)
	}
	embedded := a.join("__substg1.0_3701000d")
	switch method := a.long(propAttachMethod); {
	case strings.EqualFold(f.name, "message.rpmsg"):
		f.reason = "protected by rights management"
	case method == attachMethodMessage && r.message.file.Has(embedded+"/__properties_version1.0"):
		if depth >= r.in.Limits.MaxNesting {
			f.reason = fmt.Sprintf("messages stand more than %d deep in messages", r.in.Limits.MaxNesting)
			break
		}
		inner, err := r.letter(embedded, headOfEmbedded, depth+1)
		if err != nil {
			return f, err
		}
		f.letter = inner
		f.name = strings.Join(strings.Fields(a.text(propDisplayName)), " ")
	case method == attachMethodOLE:
		f.reason = "embedded object"
	case isTNEF(f.name, f.kind):
		f.reason = tnefReason
	default:
		content := a.bytes(propAttachData)
		if len(content) == 0 && method != attachMethodByValue {
			f.reason = "stands outside of the message"
		}
		f.content = func() []byte { return content }
	}
	return f, nil
}

// imageKind returns the media type of a picture by its file extension, "" for other files.
func imageKind(name string) string {
	name = strings.ToLower(name)
	for _, kind := range []string{"png", "gif", "jpeg", "bmp"} {
		if strings.HasSuffix(name, "."+kind) {
			return "image/" + kind
		}
	}
	if strings.HasSuffix(name, ".jpg") {
		return "image/jpeg"
	}
	return ""
}

// smime reads a signed or encrypted mail, which Outlook stores as the only attachment.
func (r *messageReader) smime(l *letter) error {
	if len(l.files) != 1 || l.files[0].content == nil {
		return nil
	}
	content := l.files[0].content()
	e := &entity{kind: "application/pkcs7-mime", body: content}
	if name := fieldName(firstLine(content)); strings.HasPrefix(name, "content-") || name == "mime-version" {
		inner, _, err := readEntity(r.ctx, content, 0, r.in.Limits)
		if err != nil {
			return err
		}
		e = inner
	}
	c := collector{ctx: r.ctx, limits: r.in.Limits, letter: l}
	found, err := c.collect(e)
	if err != nil {
		return err
	}
	l.files = found.files
	if len(found.bodies) > 0 {
		l.bodies = found.bodies
	}
	return nil
}

func firstLine(content []byte) []byte {
	line, _ := nextLine(content, 0)
	return line
}
