package platform

import (
	"context"
	"strconv"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
)

// Confluence returns the provider of Confluence: webhooks of a Data Center, and automation
// rules of the cloud that send a web request.
func Confluence() event.Provider {
	return event.Provider{
		Family: event.Events, Name: "confluence", Title: "Confluence", Description: "Pages, blog posts and comments.",
		Documentation: "https://confluence.atlassian.com/doc/managing-webhooks-1021225606.html",
		Options:       []connectors.Option{sites("The host of the site. It finds the integration for deliveries to the address without an id.", "acme.atlassian.net")},
		Credentials:   []connectors.Option{secretOption("Secret", "The secret of the webhook, and the token of web requests. Leave it empty to have one made.")},
		Secret:        secretName, Generated: true,
		Hint: "Data Center: General configuration, Webhooks, paste the address and the secret. Cloud: an automation rule with the action Send web request, the header Authorization with the value Bearer and the secret, and a body with event, page.id, page.title, page.url, space.key and timestamp.",
		Keys: func(s connectors.Settings) []string { return keys(host(s.String("site"))) },
		Route: func(r *event.Request) ([]string, error) {
			var p confluencePayload
			if err := decode(r.Body, &p); err != nil {
				return nil, err
			}
			return keys(p.sites()...), nil
		},
		Verify: func(ctx context.Context, r *event.Request, s connectors.Settings, secret string, now time.Time) error {
			if token := event.Bearer(r.Header); token != "" && r.Header.Get("X-Hub-Signature") == "" {
				if event.Same(token, secret) {
					return nil
				}
				return event.Refuse("the bearer token does not match")
			}
			return verifyHub(ctx, r, s, secret, now)
		},
		Receive: receiveConfluence, Headers: []string{"X-Event-Key"},
		Read: func(p event.Payload) (event.Content, error) {
			var c confluencePayload
			err := decode(p.Body, &c)
			return event.Content{Object: c.object(p.Type)}, err
		},
	}
}

type confluenceContent struct {
	ID       id     `json:"id"`
	Title    string `json:"title"`
	Body     string `json:"body"`
	Self     string `json:"self"`
	URL      string `json:"url"`
	SpaceKey string `json:"spaceKey"`
	Creator  string `json:"creatorName"`
	Author   string `json:"lastModifierName"`
	Parent   *struct {
		ID    id     `json:"id"`
		Title string `json:"title"`
		Self  string `json:"self"`
	} `json:"parent"`
}

type confluencePayload struct {
	Timestamp     id                 `json:"timestamp"`
	Event         string             `json:"event"`
	UserKey       string             `json:"userKey"`
	AccountID     string             `json:"userAccountId"`
	AccountType   string             `json:"accountType"`
	UpdateTrigger string             `json:"updateTrigger"`
	Page          *confluenceContent `json:"page"`
	Blog          *confluenceContent `json:"blog"`
	BlogPost      *confluenceContent `json:"blogpost"`
	Comment       *confluenceContent `json:"comment"`
	Space         *struct {
		Key  string `json:"key"`
		Self string `json:"self"`
	} `json:"space"`
}

func (p confluencePayload) contents() []*confluenceContent {
	var out []*confluenceContent
	for _, c := range []*confluenceContent{p.Comment, p.Page, p.Blog, p.BlogPost} {
		if c != nil {
			out = append(out, c)
		}
	}
	return out
}

func (p confluencePayload) sites() []string {
	var out []string
	for _, c := range p.contents() {
		out = append(out, host(orElse(c.Self, c.URL)))
	}
	if p.Space != nil && p.Space.Self != "" {
		out = append(out, host(p.Space.Self))
	}
	return out
}

func receiveConfluence(_ context.Context, r *event.Request, _ connectors.Settings, _ string) (event.Delivery, error) {
	var p confluencePayload
	if err := decode(r.Body, &p); err != nil {
		return event.Delivery{}, err
	}
	typ := orElse(p.Event, r.Header.Get("X-Event-Key"))
	if len(p.contents()) == 0 {
		return event.Delivery{}, nil // the test of a webhook
	}
	if typ == "" {
		typ = "page_updated"
	}
	e := event.Event{ID: digest(string(r.Body), string(p.Timestamp)), Type: typ}
	if ms, err := strconv.ParseInt(string(p.Timestamp), 10, 64); err == nil && ms > 0 {
		e.At = time.UnixMilli(ms).UTC()
	}
	o := p.object(typ)
	e.Summary = summary(o.Kind, o.ID, o.Action+":", o.Title)
	return event.Delivery{Events: []event.Event{e}}, nil
}

func (p confluencePayload) object(typ string) *event.Object {
	o := &event.Object{Kind: "page", Action: typ, Actor: event.Actor{ID: orElse(p.AccountID, p.UserKey)}, Fields: map[string]any{}}
	for suffix, action := range map[string]string{"_created": "created", "_updated": "updated", "_removed": "deleted", "_trashed": "deleted", "_restored": "restored"} {
		if len(typ) > len(suffix) && typ[len(typ)-len(suffix):] == suffix {
			o.Action = action
		}
	}
	set := func(kind string, c *confluenceContent) {
		if c == nil {
			return
		}
		o.Kind, o.ID, o.Title, o.Text, o.Parent = kind, string(c.ID), c.Title, c.Body, orElse(c.SpaceKey, o.Parent)
		o.URL = orElse(c.Self, c.URL)
		o.Actor.Name = orElse(c.Author, c.Creator)
	}
	set("blogpost", p.BlogPost)
	set("blogpost", p.Blog)
	set("page", p.Page)
	if p.Comment != nil {
		title, page := o.Title, o.ID
		set("comment", p.Comment)
		if parent := p.Comment.Parent; parent != nil && title == "" {
			title, page = parent.Title, string(parent.ID)
		}
		o.Title, o.Fields["pageId"] = orElse(o.Title, title), page
		if o.Action == "created" {
			o.Action = "commented"
		}
	}
	if p.Space != nil {
		o.Parent = orElse(p.Space.Key, o.Parent)
	}
	return o
}
