package platform

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
)

// Zendesk returns the provider of Zendesk's webhooks.
func Zendesk() event.Provider {
	return event.Provider{
		Family: event.Events, Name: "zendesk", Title: "Zendesk", Description: "Tickets, users and organizations, by events or by triggers.",
		Documentation: "https://developer.zendesk.com/documentation/webhooks/verifying/",
		Options: []connectors.Option{{
			Name: "account_id", Title: "Account id", Type: connectors.TypeString, Example: "22129848",
			Help: "The number of the account, as events have it. It finds the integration for deliveries to the address without an id.",
		}},
		Credentials: []connectors.Option{secretOption("Signing secret", "Zendesk shows it on the page of the webhook: Reveal secret.")},
		Secret:      secretName,
		Hint:        "In Admin Center: Apps and integrations, Webhooks, Create. Paste the address, method POST, format JSON. Then paste the signing secret here.",
		Keys:        func(s connectors.Settings) []string { return keys(s.String("account_id")) },
		Route: func(r *event.Request) ([]string, error) {
			var p zendeskPayload
			if len(r.Body) > 0 {
				if err := decode(r.Body, &p); err != nil {
					return nil, err
				}
			}
			return keys(r.Header.Get("X-Zendesk-Account-Id"), string(p.AccountID)), nil
		},
		Verify: verifyZendesk, Receive: receiveZendesk, Read: readZendesk,
	}
}

func verifyZendesk(_ context.Context, r *event.Request, _ connectors.Settings, secret string, now time.Time) error {
	stamp := r.Header.Get("X-Zendesk-Webhook-Signature-Timestamp")
	if err := event.VerifyBase64(r.Header.Get("X-Zendesk-Webhook-Signature"), secret, []byte(stamp), r.Body); err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return event.Refuse("the timestamp of the signature is malformed")
	}
	return event.CheckTime(at, now, event.Window)
}

// zendeskPayload has the fields of events and the usual ones of triggers, whose body is
// written by the administrator.
type zendeskPayload struct {
	AccountID id                         `json:"account_id"`
	ID        id                         `json:"id"`
	Type      string                     `json:"type"`
	Time      time.Time                  `json:"time"`
	Subject   string                     `json:"subject"`
	Detail    map[string]json.RawMessage `json:"detail"`
	Event     map[string]json.RawMessage `json:"event"`

	TicketID    id     `json:"ticket_id"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Status      string `json:"status"`
	URL         string `json:"url"`
	Requester   string `json:"requester_email"`
}

const zendeskPrefix = "zen:event-type:"

func receiveZendesk(_ context.Context, r *event.Request, _ connectors.Settings, _ string) (event.Delivery, error) {
	if len(strings.TrimSpace(string(r.Body))) == 0 {
		return event.Delivery{}, nil // a test of a webhook with another method than POST
	}
	var p zendeskPayload
	if err := decode(r.Body, &p); err != nil {
		return event.Delivery{}, err
	}
	e := event.Event{ID: orElse(r.Header.Get("X-Zendesk-Webhook-Invocation-Id"), string(p.ID)), Type: p.name(), At: p.Time}
	if e.ID == "" {
		e.ID = digest(r.Header.Get("X-Zendesk-Webhook-Signature-Timestamp"), string(r.Body))
	}
	o := p.object()
	e.Summary = summary(o.Kind, o.ID, o.Action+":", o.Title)
	return event.Delivery{Events: []event.Event{e}}, nil
}

// name returns the type of the event: ticket.created, or trigger.
func (p zendeskPayload) name() string {
	return orElse(strings.TrimPrefix(p.Type, zendeskPrefix), "trigger")
}

func readZendesk(p event.Payload) (event.Content, error) {
	var z zendeskPayload
	err := decode(p.Body, &z)
	return event.Content{Object: z.object()}, err
}

func (p zendeskPayload) object() *event.Object {
	kind, action, _ := strings.Cut(p.name(), ".")
	o := &event.Object{Kind: kind, Action: action, Fields: map[string]any{}}
	if !strings.HasPrefix(p.Type, zendeskPrefix) {
		o.Kind, o.Action, o.ID, o.Title, o.Text, o.URL = "ticket", orElse(p.Type, "triggered"), string(p.TicketID), p.Title, p.Description, p.URL
		o.Actor.Email = p.Requester
		if p.Status != "" {
			o.Fields["status"] = p.Status
		}
		return o
	}
	for name, raw := range p.Detail {
		var value any
		if json.Unmarshal(raw, &value) == nil {
			o.Fields[name] = value
		}
	}
	text := func(name string) string {
		var v id
		if raw := p.Detail[name]; raw == nil || json.Unmarshal(raw, &v) != nil {
			return ""
		}
		return string(v)
	}
	o.ID, o.Title, o.Text, o.Actor.ID = text("id"), orElse(text("subject"), text("name")), text("description"), text("actor_id")
	if comment := p.Event["comment"]; comment != nil {
		o.Text, o.Action = orElse(named(comment, "body"), o.Text), "commented"
	}
	if o.ID == "" {
		_, o.ID, _ = strings.Cut(p.Subject, kind+":")
	}
	return o
}
