package platform

import (
	"context"
	"mime"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
)

// GitHub returns the provider of GitHub's webhooks.
func GitHub() event.Provider {
	return event.Provider{
		Family: event.Events, Name: "github", Title: "GitHub", Description: "Issues, pull requests, discussions, comments and releases.",
		Documentation: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
		Options: []connectors.Option{{
			Name: "repositories", Title: "Repositories", Type: connectors.TypeStringList, Example: "acme/handbook",
			Help: "Repositories (acme/handbook) or organizations (acme/*). They find the integration for deliveries to the address without an id.",
		}},
		Credentials: []connectors.Option{secretOption("Secret", "The secret of the webhook. Leave it empty to have one made.")},
		Secret:      secretName, Generated: true,
		Hint: "In the repository or organization: Settings, Webhooks, Add webhook. Paste the address and the secret, and choose application/json.",
		Keys: func(s connectors.Settings) []string { return keys(s.Strings("repositories")...) },
		Route: func(r *event.Request) ([]string, error) {
			p, err := readGitHub(r.Header.Get("Content-Type"), r.Body)
			if err != nil {
				return nil, err
			}
			owner, _, _ := strings.Cut(p.Repository.FullName, "/")
			if owner == "" {
				owner = p.Organization.Login
			}
			if owner != "" {
				owner += "/*"
			}
			return keys(p.Repository.FullName, owner), nil
		},
		Verify: func(_ context.Context, r *event.Request, _ connectors.Settings, secret string, _ time.Time) error {
			return event.VerifyHex(r.Header.Get("X-Hub-Signature-256"), "sha256=", secret, r.Body)
		},
		Receive: receiveGitHub, Headers: []string{"Content-Type", "X-Github-Event"}, Read: readGitHubEvent,
	}
}

type gitHubUser struct {
	ID    id     `json:"id"`
	Login string `json:"login"`
	Email string `json:"email"`
}

type gitHubThread struct {
	Number    int        `json:"number"`
	Title     string     `json:"title"`
	Body      string     `json:"body"`
	State     string     `json:"state"`
	HTMLURL   string     `json:"html_url"`
	UpdatedAt time.Time  `json:"updated_at"`
	User      gitHubUser `json:"user"`
	Labels    []struct {
		Name string `json:"name"`
	} `json:"labels"`
}

// gitHubPayload has the fields of all events.
type gitHubPayload struct {
	Action     string `json:"action"`
	Zen        string `json:"zen"`
	Repository struct {
		FullName string `json:"full_name"`
		HTMLURL  string `json:"html_url"`
	} `json:"repository"`
	Organization struct {
		Login string `json:"login"`
	} `json:"organization"`
	Sender      gitHubUser    `json:"sender"`
	Issue       *gitHubThread `json:"issue"`
	PullRequest *gitHubThread `json:"pull_request"`
	Discussion  *gitHubThread `json:"discussion"`
	Comment     *gitHubThread `json:"comment"`
	Review      *gitHubThread `json:"review"`
	Release     *struct {
		TagName string `json:"tag_name"`
		Name    string `json:"name"`
		Body    string `json:"body"`
		HTMLURL string `json:"html_url"`
		ID      id     `json:"id"`
	} `json:"release"`
	Ref        string `json:"ref"`
	After      string `json:"after"`
	Compare    string `json:"compare"`
	HeadCommit *struct {
		Message string `json:"message"`
	} `json:"head_commit"`
}

// readGitHub decodes a body in either of the two forms that GitHub sends.
func readGitHub(contentType string, body []byte) (p gitHubPayload, err error) {
	if kind, _, _ := mime.ParseMediaType(contentType); kind == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return p, event.ErrDelivery
		}
		body = []byte(form.Get("payload"))
	}
	return p, decode(body, &p)
}

func receiveGitHub(_ context.Context, r *event.Request, _ connectors.Settings, _ string) (event.Delivery, error) {
	p, err := readGitHub(r.Header.Get("Content-Type"), r.Body)
	name := r.Header.Get("X-Github-Event")
	if err != nil || name == "" {
		return event.Delivery{}, event.ErrDelivery
	}
	if name == "ping" {
		return event.Delivery{}, nil
	}
	e := event.Event{ID: r.Header.Get("X-Github-Delivery"), Type: name}
	if p.Action != "" {
		e.Type += "." + p.Action
	}
	o := p.object(e.Type)
	e.Summary = summary(o.Parent, o.Kind, o.ID, o.Action+":", o.Title)
	for _, t := range []*gitHubThread{p.Comment, p.Review, p.Issue, p.PullRequest, p.Discussion} {
		if t != nil && e.At.IsZero() {
			e.At = t.UpdatedAt
		}
	}
	return event.Delivery{Events: []event.Event{e}}, nil
}

func readGitHubEvent(p event.Payload) (event.Content, error) {
	g, err := readGitHub(p.Header.Get("Content-Type"), p.Body)
	if err != nil {
		return event.Content{}, err
	}
	return event.Content{Object: g.object(p.Type)}, nil
}

func (p gitHubPayload) object(typ string) *event.Object {
	kind, _, _ := strings.Cut(typ, ".")
	o := &event.Object{
		Kind: kind, Action: orElse(p.Action, kind), Parent: p.Repository.FullName, URL: p.Repository.HTMLURL,
		Actor: event.Actor{ID: string(p.Sender.ID), Name: p.Sender.Login, Email: p.Sender.Email}, Fields: map[string]any{},
	}
	thread := func(kind string, t *gitHubThread) {
		if t == nil {
			return
		}
		o.Kind, o.ID, o.Title, o.Text, o.URL = kind, strconv.Itoa(t.Number), t.Title, t.Body, t.HTMLURL
		labels := make([]any, 0, len(t.Labels))
		for _, l := range t.Labels {
			labels = append(labels, l.Name)
		}
		o.Fields["state"], o.Fields["labels"], o.Fields["author"] = t.State, labels, t.User.Login
	}
	thread("discussion", p.Discussion)
	thread("pull_request", p.PullRequest)
	thread("issue", p.Issue)
	for _, said := range []*gitHubThread{p.Comment, p.Review} {
		if said != nil {
			o.Text, o.URL, o.Fields["comment"] = said.Body, said.HTMLURL, true
			if p.Action == "created" || p.Action == "submitted" {
				o.Action = "commented"
			}
		}
	}
	switch {
	case p.Release != nil:
		o.Kind, o.ID, o.Title, o.Text, o.URL = "release", string(p.Release.ID), orElse(p.Release.Name, p.Release.TagName), p.Release.Body, p.Release.HTMLURL
		o.Fields["tag"] = p.Release.TagName
	case kind == "push":
		o.ID, o.URL, o.Fields["ref"] = p.After, orElse(p.Compare, o.URL), p.Ref
		if p.HeadCommit != nil {
			o.Title, _, _ = strings.Cut(p.HeadCommit.Message, "\n")
			o.Text = p.HeadCommit.Message
		}
	}
	return o
}
