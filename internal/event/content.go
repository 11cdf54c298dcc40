package event

import (
	"time"
)

// Content is the common form of an event. One of its fields is set.
type Content struct {
	Mail    *Mail    `json:"mail,omitempty"`
	Object  *Object  `json:"object,omitempty"`
	Meeting *Meeting `json:"meeting,omitempty"`
}

// An Address is a mailbox with the name of its owner, if it is known.
type Address struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email"`
}

// A Mail is a received mail.
type Mail struct {
	MessageID     string            `json:"messageId"`
	From          Address           `json:"from"`
	To            []Address         `json:"to"`
	CC            []Address         `json:"cc,omitempty"`
	Recipient     string            `json:"recipient,omitempty"` // the address of the envelope
	Subject       string            `json:"subject"`
	Text          string            `json:"text"` // the text part, or the HTML part as Markdown
	HTML          string            `json:"html,omitempty"`
	StrippedReply string            `json:"strippedReply,omitempty"` // the text without quotations
	InReplyTo     string            `json:"inReplyTo,omitempty"`
	References    []string          `json:"references,omitempty"`
	Date          time.Time         `json:"date,omitzero"`
	Attachments   []Attachment      `json:"attachments,omitempty"`
	SPF           string            `json:"spf,omitempty"` // pass, fail, none, … as the platform says
	DKIM          string            `json:"dkim,omitempty"`
	DMARC         string            `json:"dmarc,omitempty"`
	SpamScore     float64           `json:"spamScore,omitempty"`
	Virus         string            `json:"virus,omitempty"`
	Headers       map[string]string `json:"headers,omitempty"` // the first of each name, canonical
	// Verified says that DMARC passed, or that SPF or DKIM passed for the sender's domain.
	Verified bool `json:"senderVerified"`
	// Automatic says why nobody must answer it; empty for a mail of a person.
	Automatic string `json:"automatic,omitempty"`
	// Object is where the raw mail is if the platform stored it instead of sending it.
	Object *StoredMail `json:"storedMail,omitempty"`
}

// A StoredMail names an object in a bucket.
type StoredMail struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
	Region string `json:"region"`
}

// An Attachment is a file of a mail.
type Attachment struct {
	Name        string `json:"name"`
	ContentType string `json:"contentType"`
	ContentID   string `json:"contentId,omitempty"`
	Size        int    `json:"size"`
	Content     []byte `json:"-"`
}

// An Object is an event about an object of a platform: an issue, a ticket, a page.
type Object struct {
	Kind   string         `json:"kind"` // issue, ticket, page, contact, …
	ID     string         `json:"id"`
	Action string         `json:"action"` // created, updated, deleted, commented, …
	Title  string         `json:"title"`
	Text   string         `json:"text,omitempty"`
	URL    string         `json:"url,omitempty"`
	Parent string         `json:"parent,omitempty"` // project, repository, space
	Actor  Actor          `json:"actor"`
	Fields map[string]any `json:"fields,omitempty"`
}

// An Actor is the person or program that caused an event.
type Actor struct {
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
}

// A Meeting is an event of a meeting.
type Meeting struct {
	ID        string     `json:"id"`
	Topic     string     `json:"topic"`
	Organizer Address    `json:"organizer,omitzero"`
	Start     time.Time  `json:"start,omitzero"`
	End       time.Time  `json:"end,omitzero"`
	Attendees []Attendee `json:"attendees,omitempty"`
	URL       string     `json:"url,omitempty"`
	Summary   string     `json:"summary,omitempty"`
	// Transcript is where the transcript is; nil if the event brings none.
	Transcript *TranscriptSource `json:"transcript,omitempty"`
}

// An Attendee is a person in a meeting.
type Attendee struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
}

// A TranscriptSource says where a transcript is. The token is a credential of this one
// transcript, which the platform sent.
type TranscriptSource struct {
	ID    string `json:"id"`
	URL   string `json:"url,omitempty"`
	Token string `json:"-"`
}

// A Transcript is the text of a meeting.
type Transcript struct {
	Markdown  string
	Attendees []Attendee
	Topic     string // empty if the platform does not say
	Start     time.Time
}
