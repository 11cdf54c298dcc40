package slack

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/slackapi"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
)

// ProviderName is the provider of the inbound integrations of this package.
const ProviderName = "slack"

// The options and credentials of integrations.
const (
	teamOption       = "team_id"
	detailOption     = "detail"
	secretCredential = "signing_secret"

	detailFull     = "full"
	detailLinkOnly = "link_only"
)

const (
	headerSignature = "X-Slack-Signature"
	headerTimestamp = "X-Slack-Request-Timestamp"
)

// Provider describes the integrations of Slack apps that show approvals.
//
// https://api.slack.com/authentication/verifying-requests-from-slack
func (a *App) Provider() event.Provider {
	return event.Provider{
		Family: event.Slack, Name: ProviderName, Title: "Slack approvals", Description: "Messages with buttons, by which people decide about calls of agents.",
		Documentation: "https://api.slack.com/interactivity/handling",
		Options: []connectors.Option{
			{Name: teamOption, Title: "Workspace id", Type: connectors.TypeString, Example: "T024BE7LD",
				Help: "The id of the Slack workspace. It finds the integration for requests to the address without an id."},
			{Name: detailOption, Title: "Details", Type: connectors.TypeString, Default: detailFull, Choices: []string{detailFull, detailLinkOnly},
				Help: "Everybody in a channel sees a message with its preview and arguments. link_only posts nothing but a link."},
			{Name: slackapi.AddressOption, Title: "API address", Type: connectors.TypeString, Format: connectors.FormatURL, Default: slackapi.DefaultAddress,
				Destination: true, Advanced: true, Example: "https://slack-gov.com/api", Help: "Only for GovSlack."},
		},
		Credentials: []connectors.Option{
			{Name: secretCredential, Title: "Signing secret", Type: connectors.TypeString, Sensitive: true, Required: true, Help: "On the page Basic Information of the app."},
			{Name: slackapi.TokenCredential, Title: "Bot token", Type: connectors.TypeString, Sensitive: true, Required: true, Example: "xoxb-…",
				Help: "On the page OAuth & Permissions. Its scopes are chat:write, users:read and users:read.email."},
		},
		Secret: secretCredential,
		Hint: "Create a Slack app with the bot scopes chat:write, users:read and users:read.email, and install it. Switch Interactivity on and paste the address as " +
			"Request URL. Then enter the signing secret and the bot token here, and invite the app to the channel.",
		Keys: func(s connectors.Settings) []string { return lowered(s.String(teamOption)) },
		Route: func(r *event.Request) ([]string, error) {
			p, err := parseInteraction(r.Body)
			if err != nil {
				return nil, err
			}
			return lowered(p.Team.ID), nil
		},
		Open: func(r *event.Request) (event.Answer, bool) {
			form, err := url.ParseQuery(string(r.Body))
			return event.Answer{}, err == nil && form.Get("ssl_check") == "1" && form.Get("payload") == ""
		},
		Verify: verify,
		Receive: func(context.Context, *event.Request, connectors.Settings, string) (event.Delivery, error) {
			return event.Delivery{}, nil
		},
		Read: func(event.Payload) (event.Content, error) { return event.Content{}, event.ErrDelivery },
		Probe: func(ctx context.Context, s connectors.Settings) error {
			return a.api.At(s.String(slackapi.AddressOption)).Call(ctx, s.Credentials[slackapi.TokenCredential], "auth.test", nil, nil)
		},
	}
}

func lowered(key string) []string {
	if key = strings.ToLower(strings.TrimSpace(key)); key == "" || len(key) > 64 {
		return nil
	}
	return []string{key}
}

// verify checks the signature of the bytes on the wire, and its age.
func verify(_ context.Context, r *event.Request, _ connectors.Settings, secret string, now time.Time) error {
	stamp := r.Header.Get(headerTimestamp)
	if err := event.VerifyHex(r.Header.Get(headerSignature), "v0=", secret, []byte("v0:"+stamp+":"), r.Body); err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != stamp {
		return event.Refuse("the timestamp of the signature is malformed")
	}
	return event.CheckTime(time.Unix(seconds, 0), now, event.Window)
}

// An interaction is Slack's request after a person used a button or a form.
type interaction struct {
	Type string `json:"type"`
	Team struct {
		ID string `json:"id"`
	} `json:"team"`
	User struct {
		ID   string `json:"id"`
		Team string `json:"team_id"`
	} `json:"user"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Message struct {
		TS string `json:"ts"`
	} `json:"message"`
	ResponseURL string `json:"response_url"`
	TriggerID   string `json:"trigger_id"`
	Actions     []struct {
		ID    string `json:"action_id"`
		Value string `json:"value"`
	} `json:"actions"`
	View struct {
		Callback string `json:"callback_id"`
		Metadata string `json:"private_metadata"`
		State    struct {
			Values map[string]map[string]struct {
				Value string `json:"value"`
			} `json:"values"`
		} `json:"state"`
	} `json:"view"`
}

// value returns what a person wrote into a field of a form.
func (i *interaction) value(field string) string { return i.View.State.Values[field][field].Value }

// parseInteraction decodes the body of a request.
func parseInteraction(body []byte) (*interaction, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("payload") == "" {
		return nil, event.ErrDelivery
	}
	var p interaction
	if json.Unmarshal([]byte(form.Get("payload")), &p) != nil || p.Type == "" || p.User.ID == "" {
		return nil, event.ErrDelivery
	}
	return &p, nil
}
