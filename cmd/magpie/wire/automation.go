package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/agents/automation/delivery"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/mailer"
)

// openAutomations creates the automations and what delivers their answers.
func (a *App) openAutomations() error {
	var answers func(*ent.InboundIntegration) bool
	if server := a.Config.SMTPURL.Reveal(); server != "" {
		m, err := mailer.New(mailer.Options{URL: server, From: a.Config.SMTPFrom, Now: a.now})
		if err != nil {
			return fmt.Errorf("SMTP_URL: %w", err)
		}
		a.mailer = m
	} else {
		answers = func(row *ent.InboundIntegration) bool { return a.reply().Answers(row) }
	}
	a.Automations = automation.NewStore(automation.Options{
		Ent: a.DB.Ent, Box: a.Secrets, Index: a.Index, Answers: answers, Now: a.now, Log: a.Log,
		Deliveries: []string{automation.ReplyEmail, automation.SlackMessage, automation.Comment, automation.Document},
	})
	return nil
}

// reply returns what answers mails: by the API of the integration that received one, or by
// SMTP_URL.
func (a *App) reply() delivery.Reply {
	r := delivery.Reply{Host: a.mailHost(), Ent: a.DB.Ent, Settings: a.Events.Settings, API: a.mailAPI}
	if a.mailer != nil {
		r.Sender = a.mailer
	}
	return r
}

// automations returns the engine of a worker.
func (a *App) automations() *automation.Engine {
	deliverers := map[string]automation.Deliverer{
		automation.ReplyEmail:   a.reply(),
		automation.Document:     delivery.Document{Ent: a.DB.Ent, Index: a.Index, Parser: a.Parser, Models: a.Models, Now: a.now},
		automation.Comment:      delivery.Comment{Ent: a.DB.Ent, Tools: a.Integrations},
		automation.SlackMessage: delivery.Slack{Ent: a.DB.Ent, Settings: a.Events.Settings, API: a.slackAPI},
	}
	options := automation.EngineOptions{
		Store: a.Automations, Runner: a.Runs, Approvals: automation.People{Ent: a.DB.Ent, Approvals: a.Approvals}, Deliverers: deliverers, Changes: a.Index,
		Principals: a.Principals, LostAfter: a.Config.WorkerLostAfter,
	}
	if a.mailer != nil {
		options.Notify = a.notifyOwner
	}
	return automation.NewEngine(options)
}

// checkArguments checks what a person writes in place of the arguments of an approval: of
// a delivery of an automation, or of a call of an agent.
func (a *App) checkArguments(ctx context.Context, row *ent.Approval, given json.RawMessage) error {
	if known, err := automation.CheckArguments(row, given); known {
		return err
	}
	return a.Runs.CheckArguments(ctx, row, given)
}

// mailHost returns the domain of message ids.
func (a *App) mailHost() string {
	if u, err := url.Parse(a.Config.PublicURL()); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return "magpie.invalid"
}

// notifyOwner tells the owner of an automation by mail that it was disabled.
func (a *App) notifyOwner(ctx context.Context, owner *ent.User, row *ent.Automation) error {
	reason := ""
	if row.DisabledReason != nil {
		reason = *row.DisabledReason
	}
	return a.mailer.Send(ctx, mailer.Message{
		To: owner.Email, Subject: "Magpie has disabled " + row.Name, ID: fmt.Sprintf("disabled-%s-%d@%s", row.ID, row.UpdatedAt.UnixMilli(), a.mailHost()), Automatic: true,
		Text: fmt.Sprintf("The automation %q was disabled at %s.\n\nReason: %s\n\nIts history shows the runs. Switch it on again when the cause is gone.\n",
			row.Name, row.UpdatedAt.UTC().Format(time.RFC1123), reason),
		Headers: map[string]string{automation.LoopHeader: "notice"},
	})
}
