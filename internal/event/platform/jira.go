package platform

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
)

// Jira returns the provider of Jira's webhooks that an administrator creates.
func Jira() event.Provider {
	return event.Provider{
		Family: event.Events, Name: "jira", Title: "Jira", Description: "Issues and comments.",
		Documentation: "https://developer.atlassian.com/cloud/jira/platform/webhooks/",
		Options:       []connectors.Option{sites("The host of the site. It finds the integration for deliveries to the address without an id.", "acme.atlassian.net")},
		Credentials:   []connectors.Option{secretOption("Secret", "The secret of the webhook. Leave it empty to have one made.")},
		Secret:        secretName, Generated: true,
		Hint: "In Jira: System, WebHooks, Create. Paste the address and the secret. A Data Center before 8.0 signs nothing: add ?token= and the secret to the address there.",
		Keys: func(s connectors.Settings) []string { return keys(host(s.String("site"))) },
		Route: func(r *event.Request) ([]string, error) {
			var p jiraPayload
			if err := decode(r.Body, &p); err != nil {
				return nil, err
			}
			return keys(p.sites()...), nil
		},
		Verify: verifyHub, Receive: receiveJira,
		Read: func(p event.Payload) (event.Content, error) {
			var j jiraPayload
			err := decode(p.Body, &j)
			return event.Content{Object: j.object()}, err
		},
	}
}

// verifyHub checks the signature of Atlassian's products or, where a product signs
// nothing, the token of the address.
func verifyHub(_ context.Context, r *event.Request, _ connectors.Settings, secret string, _ time.Time) error {
	signature := r.Header.Get("X-Hub-Signature")
	if signature == "" {
		if token := r.Query.Get("token"); token != "" {
			if event.Same(token, secret) {
				return nil
			}
			return event.Refuse("the token of the address does not match")
		}
	}
	return event.VerifyHex(signature, "sha256=", secret, r.Body)
}

type jiraUser struct {
	Self         string `json:"self"`
	AccountID    string `json:"accountId"`
	Name         string `json:"name"`
	DisplayName  string `json:"displayName"`
	EmailAddress string `json:"emailAddress"`
}

func (u *jiraUser) actor() event.Actor {
	if u == nil {
		return event.Actor{}
	}
	return event.Actor{ID: orElse(u.AccountID, u.Name), Name: u.DisplayName, Email: u.EmailAddress}
}

type jiraPayload struct {
	Timestamp    int64     `json:"timestamp"`
	WebhookEvent string    `json:"webhookEvent"`
	TypeName     string    `json:"issue_event_type_name"`
	User         *jiraUser `json:"user"`
	Issue        *struct {
		ID     id                         `json:"id"`
		Key    string                     `json:"key"`
		Self   string                     `json:"self"`
		Fields map[string]json.RawMessage `json:"fields"`
	} `json:"issue"`
	Comment *struct {
		ID     id              `json:"id"`
		Self   string          `json:"self"`
		Body   json.RawMessage `json:"body"`
		Author *jiraUser       `json:"author"`
	} `json:"comment"`
	Changelog *struct {
		ID    id `json:"id"`
		Items []struct {
			Field      string `json:"field"`
			FromString string `json:"fromString"`
			ToString   string `json:"toString"` //nolint:tagliatelle // Jira's name
		} `json:"items"`
	} `json:"changelog"`
}

func (p jiraPayload) sites() []string {
	var out []string
	if p.Issue != nil {
		out = append(out, host(p.Issue.Self))
	}
	if p.Comment != nil {
		out = append(out, host(p.Comment.Self))
	}
	if p.User != nil {
		out = append(out, host(p.User.Self))
	}
	return out
}

func receiveJira(_ context.Context, r *event.Request, _ connectors.Settings, _ string) (event.Delivery, error) {
	var p jiraPayload
	if err := decode(r.Body, &p); err != nil {
		return event.Delivery{}, err
	}
	if p.WebhookEvent == "" {
		return event.Delivery{}, event.ErrDelivery
	}
	e := event.Event{ID: r.Header.Get("X-Atlassian-Webhook-Identifier"), Type: p.WebhookEvent}
	if p.Timestamp > 0 {
		e.At = time.UnixMilli(p.Timestamp).UTC()
	}
	if e.ID == "" {
		e.ID = digest(p.WebhookEvent, strconv.FormatInt(p.Timestamp, 10), string(r.Body))
	}
	o := p.object()
	e.Summary = summary(o.ID, o.Action+":", o.Title)
	return event.Delivery{Events: []event.Event{e}}, nil
}

func (p jiraPayload) object() *event.Object {
	_, name, prefixed := strings.Cut(p.WebhookEvent, ":")
	if !prefixed {
		name = p.WebhookEvent
	}
	kind, action, _ := strings.Cut(name, "_")
	o := &event.Object{Kind: kind, Action: action, Actor: p.User.actor(), Fields: map[string]any{}}
	if p.Issue != nil {
		o.Kind, o.ID = "issue", p.Issue.Key
		if h := host(p.Issue.Self); h != "" {
			o.URL = "https://" + h + "/browse/" + p.Issue.Key
		}
		text := func(name string) string { return jiraText(p.Issue.Fields[name], 0) }
		o.Title, o.Text = text("summary"), text("description")
		o.Parent = named(p.Issue.Fields["project"], "key")
		for _, field := range []string{"status", "priority", "issuetype", "assignee", "reporter"} {
			if value := orElse(named(p.Issue.Fields[field], "name"), named(p.Issue.Fields[field], "displayName")); value != "" {
				o.Fields[field] = value
			}
		}
		var labels []any
		if json.Unmarshal(p.Issue.Fields["labels"], &labels) == nil && len(labels) > 0 {
			o.Fields["labels"] = labels
		}
	}
	if p.Comment != nil {
		o.Text, o.Fields["comment"] = jiraText(p.Comment.Body, 0), true
		o.Fields["commentId"] = string(p.Comment.ID)
		if kind == "comment" {
			o.Action = map[string]string{"created": "commented"}[action]
			o.Action = orElse(o.Action, "comment_"+action)
		}
		if p.User == nil {
			o.Actor = p.Comment.Author.actor()
		}
	}
	if p.Changelog != nil {
		changes := make([]any, 0, len(p.Changelog.Items))
		for _, item := range p.Changelog.Items {
			changes = append(changes, map[string]any{"field": item.Field, "from": item.FromString, "to": item.ToString})
		}
		o.Fields["changes"] = changes
	}
	return o
}

// named returns a text field of a JSON object; empty if it has none.
func named(raw json.RawMessage, field string) string {
	var object map[string]json.RawMessage
	var text string
	if json.Unmarshal(raw, &object) != nil || json.Unmarshal(object[field], &text) != nil {
		return ""
	}
	return text
}

// maxDepth bounds the nesting of a document in Atlassian's format.
const maxDepth = 40

// jiraText returns a text that is plain or a document in Atlassian's format.
func jiraText(raw json.RawMessage, depth int) string {
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		return plain
	}
	var node struct {
		Type    string            `json:"type"`
		Text    string            `json:"text"`
		Content []json.RawMessage `json:"content"`
		Attrs   struct {
			Text string `json:"text"`
			URL  string `json:"url"`
		} `json:"attrs"`
	}
	if depth > maxDepth || json.Unmarshal(raw, &node) != nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(orElse(node.Text, node.Attrs.Text, node.Attrs.URL))
	for _, child := range node.Content {
		b.WriteString(jiraText(child, depth+1))
	}
	switch node.Type {
	case "paragraph", "heading", "listItem", "codeBlock", "tableRow", "hardBreak":
		b.WriteString("\n")
	case "doc":
		return strings.TrimSpace(b.String())
	}
	return b.String()
}
