package delivery

import (
	"context"
	"errors"
	"strings"

	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/internal/mailer"
)

// Sender sends mails; mailer.Mailer implements it.
type Sender interface {
	Send(ctx context.Context, m mailer.Message) error
	From() string
}

// Reply answers mails. A reply goes to the sender of the mail and to nobody else, whatever
// the mail, the model or the person who approves writes.
type Reply struct {
	Sender Sender
	// Host is the domain of the message ids.
	Host string
}

var _ automation.Deliverer = Reply{}

// Repeatable returns false: a mail that was sent twice arrives twice.
func (Reply) Repeatable() bool { return false }

// Target returns the address of the sender.
func (r Reply) Target(_ context.Context, j automation.Job) (string, error) {
	mail := j.Occurrence.Mail
	switch {
	case mail == nil:
		return "", &automation.NotSent{Reason: "there is no mail to answer"}
	case !strings.Contains(mail.From, "@"):
		return "", &automation.NotSent{Reason: "the mail has no sender"}
	case strings.EqualFold(mail.From, r.Sender.From()), strings.EqualFold(mail.From, mail.Recipient):
		return "", &automation.NotSent{Reason: "the mail comes from the address that answers"}
	}
	return mail.From, nil
}

// Deliver sends the reply, marked as automatic and with the ids of the mail that it
// answers.
func (r Reply) Deliver(ctx context.Context, j automation.Job) error {
	to, err := r.Target(ctx, j)
	if err != nil {
		return err
	}
	mail := j.Occurrence.Mail
	err = r.Sender.Send(ctx, mailer.Message{
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
