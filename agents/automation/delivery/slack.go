package delivery

import (
	"context"
	"errors"
	"strings"

	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/agents/slackapi"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Slack posts answers in a channel by the bot of an inbound integration.
type Slack struct {
	Ent *ent.Client
	// Settings opens the credentials of an integration; inbox.Inbox has it.
	Settings func(*ent.InboundIntegration) (connectors.Settings, error)
	API      *slackapi.Client
}

var _ automation.Deliverer = Slack{}

const maxSlackText = 12_000 // characters; Slack cuts messages of 40,000

// Repeatable returns false: Slack has no idempotency key for messages.
func (Slack) Repeatable() bool { return false }

// Target returns the channel.
func (s Slack) Target(_ context.Context, j automation.Job) (string, error) {
	return "the Slack channel " + j.Delivery.Channel, nil
}

// Deliver posts the answer as Markdown, without mentions that notify a whole channel.
func (s Slack) Deliver(ctx context.Context, j automation.Job) error {
	if j.Delivery.Integration == nil {
		return &automation.NotSent{Reason: "the delivery names no integration"}
	}
	row, err := s.Ent.InboundIntegration.Get(ctx, *j.Delivery.Integration)
	if ent.IsNotFound(err) {
		return &automation.NotSent{Reason: "the integration with Slack does not exist any more"}
	}
	if err != nil {
		return &automation.NotSent{Reason: "the integration could not be read", Later: true, Cause: err}
	}
	settings, err := s.Settings(row)
	if err != nil {
		return &automation.NotSent{Reason: "the credentials of the integration do not open; enter them again", Cause: err}
	}
	token := settings.Credentials[slackapi.TokenCredential]
	if token == "" {
		return &automation.NotSent{Reason: "the integration has no bot token"}
	}
	text := safetext.Truncate("*"+j.Arguments.Title+"*\n"+j.Arguments.Text, maxSlackText)
	err = s.API.At(settings.String(slackapi.AddressOption)).Call(ctx, token, "chat.postMessage", map[string]any{
		"channel": j.Delivery.Channel, "text": escapeSlack(text), "unfurl_links": false, "unfurl_media": false, "mrkdwn": true,
	}, nil)
	if refused, ok := errors.AsType[*slackapi.Refused](err); ok {
		return &automation.NotSent{Reason: "Slack did not take the message: " + refused.Code, Later: refused.Later, After: refused.After, Cause: refused.Cause}
	}
	return err
}

// escapeSlack makes mentions and links of Slack's markup plain text.
func escapeSlack(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@channel", "@\u200bchannel", "@here", "@\u200bhere", "@everyone", "@\u200beveryone").Replace(text)
}
