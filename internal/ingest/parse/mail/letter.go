package mail

import (
	"strings"
	"time"
)

// A letter is a mail from any kind of file.
type letter struct {
	subject              string
	author, from         string // from includes the address
	to, cc               []string
	created              time.Time
	messageID, inReplyTo string
	// facts are the lines below the subject.
	facts  []fact
	bodies []body
	files  []file
	// encrypted is set if a part needs a key.
	encrypted bool
	// damage is what is missing.
	damage string
}

type fact struct{ label, value string }

func (l *letter) fact(label, value string) {
	if value = strings.Join(strings.Fields(value), " "); value != "" {
		l.facts = append(l.facts, fact{label: label, value: value})
	}
}

// body is a text of a mail in several forms with the same content.
type body struct {
	// htmlKind is the media type of html, with the encoding if it is known.
	html     []byte
	htmlKind string
	rtf      []byte
	plain    string
	// flowed is set if lines that end with a blank continue in the next one (RFC 3676). delSp is set if that blank is
	// removed.
	flowed, delSp bool
}

func (b *body) isEmpty() bool {
	return len(b.html) == 0 && len(b.rtf) == 0 && strings.TrimSpace(b.plain) == ""
}

// A file is attached to a mail.
type file struct {
	name, kind string
	// id is the id by which the text refers to the file. inline is set if it belongs into the text.
	id     string
	inline bool
	// content returns the file. reason is set if the file is not read.
	content func() []byte
	reason  string
	// letter is set instead of content for a mail in the same file.
	letter *letter
}

// title returns the heading of the file.
func (f *file) title() string {
	switch {
	case f.name != "":
		return f.name
	case f.letter != nil && f.letter.subject != "":
		return f.letter.subject
	}
	return defaultName(f.kind)
}

// defaultName returns the name of a file without one.
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
