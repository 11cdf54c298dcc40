package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/safetext"
)

// SlackToken is the name of the credential with the token of the bot.
const SlackToken = "bot_token"

// Slack posts answers in a channel by the bot of an inbound integration.
type Slack struct {
	Ent *ent.Client
	// Settings opens the credentials of an integration; inbox.Inbox has it.
	Settings func(*ent.InboundIntegration) (connectors.Settings, error)
	Client   *http.Client
	// BaseURL is the address of the API; https://slack.com/api if empty.
	BaseURL string
}

var _ automation.Deliverer = Slack{}

const (
	maxSlackText   = 12_000 // characters; Slack cuts messages of 40,000
	maxSlackAnswer = 1 << 20
)

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
	token := settings.Credentials[SlackToken]
	if token == "" {
		return &automation.NotSent{Reason: "the integration has no bot token"}
	}
	text := safetext.Truncate("*"+j.Arguments.Title+"*\n"+j.Arguments.Text, maxSlackText)
	body, err := json.Marshal(map[string]any{
		"channel": j.Delivery.Channel, "text": escapeSlack(text), "unfurl_links": false, "unfurl_media": false, "mrkdwn": true,
	})
	if err != nil {
		return &automation.NotSent{Reason: "the message cannot be written", Cause: err}
	}
	return s.post(ctx, token, body)
}

// escapeSlack makes mentions and links of Slack's markup plain text.
func escapeSlack(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@channel", "@\u200bchannel", "@here", "@\u200bhere", "@everyone", "@\u200beveryone").Replace(text)
}

func (s Slack) post(ctx context.Context, token string, body []byte) error {
	base := s.BaseURL
	if base == "" {
		base = "https://slack.com/api"
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/chat.postMessage", bytes.NewReader(body))
	if err != nil {
		return &automation.NotSent{Reason: "the request cannot be made", Cause: err}
	}
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := s.Client.Do(r)
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return &automation.NotSent{Reason: "Slack could not be reached", Later: true, Cause: err}
	}
	if err != nil {
		return fmt.Errorf("post in Slack: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxSlackAnswer))
	switch {
	case answer.StatusCode == http.StatusTooManyRequests:
		return &automation.NotSent{Reason: "Slack asks for patience", Later: true}
	case answer.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("post in Slack: status %d", answer.StatusCode)
	case err != nil:
		return fmt.Errorf("post in Slack: read the answer: %w", err)
	}
	var said struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if json.Unmarshal(content, &said) != nil {
		return fmt.Errorf("post in Slack: the answer of status %d is not Slack's", answer.StatusCode)
	}
	if !said.OK {
		return &automation.NotSent{Reason: "Slack refused the message: " + safetext.TruncateBytes(safetext.Line(said.Error), 100), Later: said.Error == "ratelimited"}
	}
	return nil
}
