package delivery

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/event/email"
	"github.com/magpie-search/magpie/internal/mailer"
)

// Sender sends mails; mailer.Mailer, mailer.Postmark and mailer.SES implement it.
type Sender interface {
	Send(ctx context.Context, m mailer.Message) error
	From() string
}

// Reply answers mails. A reply goes to the sender of the mail and to nobody else, whatever
// the mail, the model or the person who approves writes. It is sent by the API of the
// integration that received the mail, if its settings say how, and by Sender otherwise.
type Reply struct {
	Sender Sender // nil without a mail server
	// Host is the domain of the message ids.
	Host string
	Ent  *ent.Client
	// Settings opens the settings of an integration; inbox.Inbox has it.
	Settings func(*ent.InboundIntegration) (connectors.Settings, error)
	API      *mailer.API
}

var _ automation.Deliverer = Reply{}

// Repeatable returns false: a mail that was sent twice arrives twice.
func (Reply) Repeatable() bool { return false }

// Answers reports whether answers to the mails of an integration can be sent.
func (r Reply) Answers(row *ent.InboundIntegration) bool {
	if r.Sender != nil {
		return true
	}
	settings, err := r.Settings(row)
	if err != nil {
		return false
	}
	_, ok := email.OutgoingOf(row.Provider, settings)
	return ok
}

// sender returns what sends the answer to a mail.
func (r Reply) sender(ctx context.Context, integration uuid.UUID) (Sender, error) {
	if integration == uuid.Nil { // of an event of an older version
		return r.fallback()
	}
	row, err := r.Ent.InboundIntegration.Get(ctx, integration)
	if ent.IsNotFound(err) {
		return r.fallback()
	}
	if err != nil {
		return nil, &automation.NotSent{Reason: "the integration could not be read", Later: true, Cause: err}
	}
	settings, err := r.Settings(row)
	if err != nil {
		return nil, &automation.NotSent{Reason: "the credentials of the integration do not open; enter them again", Cause: err}
	}
	out, ok := email.OutgoingOf(row.Provider, settings)
	if !ok {
		return r.fallback()
	}
	var made Sender
	if out.ServerToken != "" {
		made, err = r.API.Postmark(out.From, out.ServerToken)
	} else {
		made, err = r.API.SES(out.From, out.Region, out.KeyID, out.Key)
	}
	if err != nil {
		return nil, &automation.NotSent{Reason: "the sender of answers in the integration cannot be used", Cause: err}
	}
	return made, nil
}

func (r Reply) fallback() (Sender, error) {
	if r.Sender == nil {
		return nil, &automation.NotSent{Reason: "there is neither a mail server nor a sender of answers in the integration"}
	}
	return r.Sender, nil
}

// Target returns the address of the sender.
func (r Reply) Target(ctx context.Context, j automation.Job) (string, error) {
	to, _, err := r.target(ctx, j)
	return to, err
}

func (r Reply) target(ctx context.Context, j automation.Job) (string, Sender, error) {
	mail := j.Occurrence.Mail
	if mail == nil {
		return "", nil, &automation.NotSent{Reason: "there is no mail to answer"}
	}
	sender, err := r.sender(ctx, mail.Integration)
	switch {
	case err != nil:
		return "", nil, err
	case !strings.Contains(mail.From, "@"):
		return "", nil, &automation.NotSent{Reason: "the mail has no sender"}
	case strings.EqualFold(mail.From, sender.From()), strings.EqualFold(mail.From, mail.Recipient):
		return "", nil, &automation.NotSent{Reason: "the mail comes from the address that answers"}
	}
	return mail.From, sender, nil
}

// Deliver sends the reply, marked as automatic and with the ids of the mail that it
// answers.
func (r Reply) Deliver(ctx context.Context, j automation.Job) error {
	to, sender, err := r.target(ctx, j)
	if err != nil {
		return err
	}
	mail := j.Occurrence.Mail
	err = sender.Send(ctx, mailer.Message{
		To: to, ReplyTo: mail.Recipient, Subject: j.Arguments.Title, Text: j.Arguments.Text, ID: j.Key + "@" + r.Host, InReplyTo: mail.MessageID,
		References: mail.Refs, Automatic: true, Headers: map[string]string{automation.LoopHeader: j.Key},
	})
	if refused, ok := errors.AsType[*mailer.Refused](err); ok {
		reason := "the mail server did not take the reply"
		if !refused.Later {
			reason = "the mail server refused the reply"
		}
		return &automation.NotSent{Reason: reason, Later: refused.Later, Cause: refused.Cause}
	}
	return err
}
