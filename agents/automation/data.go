package automation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/event"
)

// Occurrence is what started a run, in the form in which conditions, instructions and
// deliveries see it.
type Occurrence struct {
	// Data are the values below "event": a JSON object.
	Data map[string]any `json:"data"`
	// Title says in one line what happened. Sender is the address of the person who
	// caused it, if it is known.
	Title  string `json:"title"`
	Sender string `json:"sender,omitempty"`
	// Mail is what a reply needs; nil without a mail.
	Mail *ReplyTo `json:"mail,omitempty"`
	// Attendees are the addresses of those who took part in a meeting.
	Attendees []string `json:"attendees,omitempty"`
	// Object is what a comment goes to; nil without one.
	Object *Object `json:"object,omitempty"`
	// Document is the document of a document trigger, or the transcript of a meeting.
	Document uuid.UUID `json:"document,omitzero"`
	// First is the run that had this event first, if the run replays one.
	First uuid.UUID `json:"first,omitzero"`
}

// ReplyTo is the mail that a reply answers.
type ReplyTo struct {
	From      string   `json:"from"`
	Recipient string   `json:"recipient"` // the address that it was for
	Subject   string   `json:"subject"`
	MessageID string   `json:"messageId"`
	Refs      []string `json:"references,omitempty"`
	// Integration is the inbound integration that received it.
	Integration uuid.UUID `json:"integration,omitzero"`
}

// Object is an object of a platform that an event is about.
type Object struct {
	Provider string `json:"provider"`
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	Parent   string `json:"parent"`
}

// variables returns the placeholders of instructions for each kind of data. Every other
// placeholder is refused.
func variables() map[string][]string {
	return map[string][]string{
		"EMAIL":    {"subject", "text", "from", "fromName", "to", "cc", "date", "attachments", "messageId", "senderVerified"},
		"EVENT":    {"type", "kind", "id", "action", "title", "text", "url", "parent", "actor", "actorEmail", "fields"},
		"MEETING":  {"type", "id", "topic", "organizer", "start", "end", "attendees", "summary", "url", "documentId"},
		"DOCUMENT": {"id", "title", "path", "url", "collectionId", "change", "author"},
		"SCHEDULE": {"time", "date", "timezone"},
		"MANUAL":   nil, // the keys of the payload
	}
}

// mailData returns the values of a mail.
func mailData(m *event.Mail) map[string]any {
	text := m.StrippedReply
	if strings.TrimSpace(text) == "" {
		text = m.Text
	}
	names := []any{}
	for _, a := range m.Attachments {
		names = append(names, a.Name)
	}
	return map[string]any{
		"subject": m.Subject, "text": text, "from": m.From.Email, "fromName": m.From.Name, "to": addresses(m.To), "cc": addresses(m.CC),
		"recipient": m.Recipient, "date": instant(m.Date), "attachments": names, "messageId": m.MessageID, "senderVerified": m.Verified,
		"spamScore": m.SpamScore, "spf": m.SPF, "dkim": m.DKIM, "dmarc": m.DMARC,
	}
}

func addresses(list []event.Address) []any {
	out := []any{}
	for _, a := range list {
		out = append(out, a.Email)
	}
	return out
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func objectData(kind string, o *event.Object) map[string]any {
	fields := o.Fields
	if fields == nil {
		fields = map[string]any{}
	}
	return map[string]any{
		"type": kind, "kind": o.Kind, "id": o.ID, "action": o.Action, "title": o.Title, "text": o.Text, "url": o.URL, "parent": o.Parent,
		"actor": o.Actor.Name, "actorId": o.Actor.ID, "actorEmail": o.Actor.Email, "fields": fields,
	}
}

func meetingData(kind string, m *event.Meeting, document *uuid.UUID) (map[string]any, []string) {
	shown, emails := []any{}, []string{}
	for _, a := range m.Attendees {
		name := a.Name
		if name == "" {
			name = a.Email
		}
		shown = append(shown, name)
		if a.Email != "" {
			emails = append(emails, strings.ToLower(a.Email))
		}
	}
	data := map[string]any{
		"type": kind, "id": m.ID, "topic": m.Topic, "organizer": m.Organizer.Email, "start": instant(m.Start), "end": instant(m.End),
		"attendees": shown, "summary": m.Summary, "url": m.URL, "documentId": "",
	}
	if document != nil {
		data["documentId"] = document.String()
	}
	return data, emails
}

// plain returns data as decoded JSON with numbers as they are written, which conditions
// compare.
func plain(data map[string]any) (any, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encode an event: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("decode an event: %w", err)
	}
	return out, nil
}
