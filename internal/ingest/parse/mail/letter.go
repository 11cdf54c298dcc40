package mail

import (
	"strings"
	"time"
)

// letter is a mail as it is written into a document, whatever file it came from.
type letter struct {
	subject              string
	author, from         string // from with the address
	to, cc               []string
	created              time.Time
	messageID, inReplyTo string
	// facts are what stands under the subject: who wrote to whom and when.
	facts  []fact
	bodies []body
	files  []file
	// encrypted tells that a part can only be read by those it was written to.
	encrypted bool
	// broken says what is missing.
	broken string
}

type fact struct{ label, value string }

func (l *letter) fact(label, value string) {
	if value = strings.Join(strings.Fields(value), " "); value != "" {
		l.facts = append(l.facts, fact{label: label, value: value})
	}
}

// body is a text of a mail in one or more forms that should say the same.
type body struct {
	// html is a page; kind is its media type with the encoding, where that is known.
	html     []byte
	htmlKind string
	rtf      []byte
	plain    string
	// flowed tells that lines which end with a blank go on in the next one (RFC 3676), without that blank where deleted.
	flowed, deleted bool
}

func (b *body) empty() bool {
	return len(b.html) == 0 && len(b.rtf) == 0 && strings.TrimSpace(b.plain) == ""
}

// file is what is attached to a mail.
type file struct {
	name, kind string
	// id is by what the text refers to it; inline tells that it belongs into the text.
	id     string
	inline bool
	// content returns the file. reason says why it is not read, "" when it is.
	content func() []byte
	reason  string
	// letter is set instead where the file is a mail that is part of the same file as this one.
	letter *letter
}

// title is what stands over the file in the document.
func (f *file) title() string {
	switch {
	case f.name != "":
		return f.name
	case f.letter != nil && f.letter.subject != "":
		return f.letter.subject
	}
	return defaultName(f.kind)
}

// defaultName names a file without a name by its media type.
func defaultName(kind string) string {
	switch kind {
	case "message/rfc822", "message/global":
		return "message.eml"
	case "text/calendar":
		return "invitation.ics"
	case "text/html":
		return "attachment.html"
	case "text/plain":
		return "attachment.txt"
	case "application/pdf":
		return "attachment.pdf"
	case "application/rtf", "text/rtf":
		return "attachment.rtf"
	case "image/jpeg":
		return "image.jpg"
	case "image/png", "image/gif", "image/tiff", "image/webp":
		return "image." + kind[len("image/"):]
	}
	return "attachment"
}
