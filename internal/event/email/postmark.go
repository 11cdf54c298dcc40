package email

import (
	"context"
	"encoding/json"
	"net/http"
	"net/mail"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Postmark returns the provider of Postmark's inbound webhook.
func Postmark() event.Provider {
	return event.Provider{
		Family: event.Email, Name: "postmark", Title: "Postmark", Description: "Mails to an inbound stream of Postmark.",
		Documentation: "https://postmarkapp.com/developer/webhooks/inbound-webhook",
		Options:       options(senderOption("An address that Postmark may send from. With it and the server token, answers to the mails go by Postmark.")),
		Credentials: []connectors.Option{
			{Name: secretName, Title: "Password", Type: connectors.TypeString, Sensitive: true, Help: "The password in the address. Leave it empty to have one made."},
			{Name: serverTokenName, Title: "Server token", Type: connectors.TypeString, Sensitive: true, Help: "To answer by Postmark: in the server, API Tokens."},
		},
		Secret: secretName, Generated: true, Basic: true,
		Hint: "In the inbound stream: Settings, Webhook. Paste the address, which has the user and the password. To answer mails by Postmark, enter a sender and the server token.",
		Keys: addressKeys,
		Route: func(r *event.Request) ([]string, error) {
			var p postmarkMail
			if json.Unmarshal(r.Body, &p) != nil {
				return nil, event.ErrDelivery
			}
			recipients := []string{p.OriginalRecipient}
			for _, a := range append(p.ToFull, p.CcFull...) {
				recipients = append(recipients, a.Email)
			}
			return recipientKeys(recipients...), nil
		},
		Verify: func(_ context.Context, r *event.Request, _ connectors.Settings, secret string, _ time.Time) error {
			return event.VerifyBasic(r.Header, secret)
		},
		Receive: func(_ context.Context, r *event.Request, _ connectors.Settings, _ string) (event.Delivery, error) {
			p, m, err := readPostmark(r.Body)
			if err != nil {
				return event.Delivery{}, err
			}
			return received(p.MessageID, m), nil
		},
		Read: func(p event.Payload) (event.Content, error) {
			_, m, err := readPostmark(p.Body)
			return event.Content{Mail: m}, err
		},
	}
}

type postmarkAddress struct {
	Email       string `json:"Email"`
	Name        string `json:"Name"`
	MailboxHash string `json:"MailboxHash"`
}

func (a postmarkAddress) address() event.Address {
	return event.Address{Name: safetext.Line(a.Name), Email: safetext.Line(a.Email)}
}

//nolint:tagliatelle // Postmark's names
type postmarkMail struct {
	FromFull          *postmarkAddress  `json:"FromFull"`
	From              string            `json:"From"`
	ToFull            []postmarkAddress `json:"ToFull"`
	CcFull            []postmarkAddress `json:"CcFull"`
	OriginalRecipient string            `json:"OriginalRecipient"`
	Subject           string            `json:"Subject"`
	MessageID         string            `json:"MessageID"`
	Date              string            `json:"Date"`
	TextBody          string            `json:"TextBody"`
	HTMLBody          string            `json:"HtmlBody"`
	StrippedTextReply string            `json:"StrippedTextReply"`
	Headers           []struct {
		Name  string `json:"Name"`
		Value string `json:"Value"`
	} `json:"Headers"`
	Attachments []struct {
		Name          string `json:"Name"`
		Content       []byte `json:"Content"`
		ContentType   string `json:"ContentType"`
		ContentLength int    `json:"ContentLength"`
		ContentID     string `json:"ContentID"`
	} `json:"Attachments"`
}

func readPostmark(body []byte) (postmarkMail, *event.Mail, error) {
	var p postmarkMail
	if json.Unmarshal(body, &p) != nil || p.FromFull == nil && p.From == "" {
		return p, nil, event.ErrDelivery
	}
	m := &event.Mail{
		Recipient: safetext.Line(p.OriginalRecipient), Subject: p.Subject, Text: p.TextBody, HTML: p.HTMLBody, StrippedReply: clip(strings.TrimSpace(p.StrippedTextReply)),
		Headers: map[string]string{},
	}
	if p.FromFull != nil {
		m.From = p.FromFull.address()
	} else {
		m.From = parseAddress(p.From)
	}
	for _, a := range p.ToFull {
		m.To = append(m.To, a.address())
	}
	for _, a := range p.CcFull {
		m.CC = append(m.CC, a.address())
	}
	for _, h := range p.Headers {
		// The first of a name is the one that the last server has added.
		if name := http.CanonicalHeaderKey(h.Name); m.Headers[name] == "" && len(m.Headers) < 200 {
			m.Headers[name] = safetext.TruncateBytes(safetext.Line(h.Value), 2000)
		}
	}
	m.MessageID, m.InReplyTo, m.References = m.Headers["Message-Id"], m.Headers["In-Reply-To"], references(m.Headers["References"])
	if date, err := mail.ParseDate(p.Date); err == nil {
		m.Date = date.UTC()
	}
	m.SpamScore, _ = strconv.ParseFloat(m.Headers["X-Spam-Score"], 64)
	m.SPF, m.Verified = readSPF(m.Headers["Received-Spf"], m.From.Email)
	for _, a := range p.Attachments {
		m.Attachments = append(m.Attachments, event.Attachment{
			Name: safetext.TruncateBytes(safetext.Line(a.Name), 255), ContentType: safetext.Line(a.ContentType), ContentID: safetext.Line(a.ContentID), Size: len(a.Content), Content: a.Content,
		})
	}
	complete(m)
	return p, m, nil
}

// readSPF reads a header Received-SPF. The sender is verified if SPF passes for the domain
// of the address that people see.
func readSPF(header, from string) (result string, verified bool) {
	result, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(header)), " ")
	_, after, found := strings.Cut(header, "envelope-from=")
	envelope, _, _ := strings.Cut(after, ";")
	return result, found && result == "pass" && aligned(strings.Trim(envelope, `" `), from)
}
