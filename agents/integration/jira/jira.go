package jira

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/atlassian"
	"github.com/magpie-search/magpie/internal/apierr"
)

const (
	optionSite = "url"
	optionAPI  = "apiUrl"
	email      = "email"
	apiToken   = "apiToken"
	token      = "token"
	title      = "Jira"
	example    = "https://acme.atlassian.net"
)

// Provider returns the provider.
func Provider() integration.Provider {
	tool := func(name, title, description string, risk policy.Risk) integration.Tool {
		t := integration.Tool{Name: name, Title: title, Description: description, Risk: risk}
		if risk.Acts() {
			t.Scopes = []string{"write:jira-work"}
		}
		return t
	}
	transitionTool := tool("transition", "Change the status of an issue", "Moves an issue to another status.", policy.Write)
	assignTool := tool("assign", "Assign an issue", "Makes a person the assignee of an issue.", policy.Write)
	transitionTool.Idempotent, assignTool.Idempotent = true, true // a repetition finds the state that it wants
	return integration.Provider{
		Name: "jira", Title: title, Summary: "Finds, creates, comments and moves issues.", Group: integration.Business,
		Config: []connectors.Option{
			{
				Name: optionSite, Title: "Address", Help: "The address at which people open Jira.", Type: connectors.TypeString, Required: true,
				Format: connectors.FormatURL, Destination: true, NoGrantToken: true, Example: example, Check: platform.CheckURL(example),
			},
			platform.AddressOption(optionAPI, atlassian.Gateway),
		},
		Credentials: []connectors.Option{
			{Name: email, Title: "Mail address", Help: "Of the account, for Cloud.", Type: connectors.TypeString, Format: connectors.FormatEmail, Example: "ada@example.com"},
			{Name: apiToken, Title: "API token", Help: "Of the account, for Cloud.", Type: connectors.TypeString, Sensitive: true},
			{Name: token, Title: "Personal access token", Help: "For Data Center.", Type: connectors.TypeString, Sensitive: true},
		},
		OAuth: &integration.OAuth{Provider: "atlassian", Scopes: []string{"offline_access", "read:jira-work", "read:jira-user"}},
		Check: func(ctx context.Context, a integration.Account) error {
			return do(ctx, a, platform.Request{Path: "myself"}, nil)
		},
		Tools: []integration.Tool{
			integration.Define(tool("search", "Search issues", "Finds issues by a JQL query, such as project = ENG AND status != Done ORDER BY updated.", policy.Read), nil, search),
			integration.Define(tool("get_issue", "Read an issue", "Returns an issue with its description and latest comments.", policy.Read), nil, get),
			integration.Define(tool("find_people", "Find people", "Finds people, with their account ids, by name or mail address.", policy.Read), nil, findPeople),
			integration.Define(tool("create_issue", "Create an issue", "Creates an issue in a project.", policy.Write), func(in createInput) loop.Preview {
				return integration.Show("Create a "+in.Type+" in "+in.Project, integration.Field{Name: "Project", Value: in.Project}, integration.Field{Name: "Type", Value: in.Type},
					integration.Field{Name: "Summary", Value: in.Summary}, integration.Field{Name: "Description", Value: in.Description},
					integration.Field{Name: "Labels", Value: strings.Join(in.Labels, ", ")})
			}, create),
			integration.Define(tool("comment", "Comment on an issue", "Adds a comment to an issue. Its watchers are notified.", policy.Write), func(in commentInput) loop.Preview {
				return integration.Show("Comment on "+in.Key, integration.Field{Name: "Issue", Value: in.Key}, integration.Field{Name: "Comment", Value: in.Text})
			}, comment),
			integration.Define(transitionTool, func(in transitionInput) loop.Preview {
				return integration.Show("Move "+in.Key+" to "+in.Status, integration.Field{Name: "Issue", Value: in.Key}, integration.Field{Name: "Status", Value: in.Status})
			}, transition),
			integration.Define(assignTool, func(in assignInput) loop.Preview {
				return integration.Show("Assign "+in.Key, integration.Field{Name: "Issue", Value: in.Key}, integration.Field{Name: "Account", Value: in.Account})
			}, assign),
		},
	}
}

// do makes a request to version 2 of the API, which has descriptions and comments as
// texts.
func do(ctx context.Context, a integration.Account, r platform.Request, out any) error {
	api := platform.API{Name: title, Base: platform.URL(optionSite, "/rest/api/2"), Authorize: authorize, Advice: "config." + optionSite}
	if a.Token != nil {
		id, err := cloudID(ctx, a)
		if err != nil {
			return err
		}
		api.Base = platform.URL(optionAPI, platform.Path("/ex/jira/%s/rest/api/2", id))
	}
	return api.Do(ctx, a, r, out)
}

func authorize(r *http.Request, a integration.Account, granted string) error {
	switch {
	case granted != "":
		r.Header.Set("Authorization", "Bearer "+granted)
	case a.Credentials[token] != "":
		r.Header.Set("Authorization", "Bearer "+a.Credentials[token])
	case a.Credentials[email] == "" || a.Credentials[apiToken] == "":
		return platform.Missing(apiToken)
	default:
		r.SetBasicAuth(a.Credentials[email], a.Credentials[apiToken])
	}
	return nil
}

// cloudID returns the id by which the gateway knows the site of an OAuth grant.
func cloudID(ctx context.Context, a integration.Account) (string, error) {
	var sites []struct {
		ID  string `json:"id"`
		URL string `json:"url"`
	}
	gateway := platform.API{Name: title, Base: platform.URL(optionAPI, ""), Authorize: authorize, Advice: "config." + optionAPI}
	if err := gateway.Do(ctx, a, platform.Request{Path: "oauth/token/accessible-resources"}, &sites); err != nil {
		return "", err
	}
	wanted, err := url.Parse(a.String(optionSite))
	for _, site := range sites {
		if u, problem := url.Parse(site.URL); err == nil && problem == nil && strings.EqualFold(u.Host, wanted.Host) {
			return site.ID, nil
		}
	}
	return "", &apierr.Error{Code: apierr.Forbidden, Message: "The connected Atlassian account has no access to the site in config.url."}
}

const issueFields = "summary,status,issuetype,priority,assignee,reporter,labels,updated"

type person struct {
	ID   string `json:"accountId,omitempty"`
	Name string `json:"displayName"`
}

type named struct {
	Name string `json:"name"`
}

type issue struct {
	ID     string `json:"id"`
	Key    string `json:"key"`
	Fields struct {
		Summary     string   `json:"summary"`
		Description string   `json:"description,omitempty"`
		Status      named    `json:"status"`
		Type        named    `json:"issuetype"`
		Priority    *named   `json:"priority,omitempty"`
		Assignee    *person  `json:"assignee,omitempty"`
		Reporter    *person  `json:"reporter,omitempty"`
		Labels      []string `json:"labels,omitempty"`
		Updated     string   `json:"updated,omitempty"`
		Comments    *struct {
			Comments []struct {
				Author  *person `json:"author,omitempty"`
				Body    string  `json:"body"`
				Created string  `json:"created"`
			} `json:"comments"`
		} `json:"comment,omitempty"`
	} `json:"fields"`
	URL string `json:"url"`
}

func link(a integration.Account, key string) string {
	return strings.TrimRight(a.String(optionSite), "/") + "/browse/" + url.PathEscape(key)
}

type searchInput struct {
	JQL   string `json:"jql" rule:"required,min=1,max=2000"`
	Limit int    `json:"limit" rule:"min=1,max=50" about:"20 when left out."`
}

func search(ctx context.Context, a integration.Account, in searchInput) (loop.Result, error) {
	if in.Limit == 0 {
		in.Limit = 20
	}
	path := "search/jql"
	if a.Credentials[token] != "" && a.Token == nil {
		path = "search" // Data Center
	}
	var out struct {
		Issues []issue `json:"issues"`
	}
	query := url.Values{"jql": {in.JQL}, "maxResults": {strconv.Itoa(in.Limit)}, "fields": {issueFields}}
	if err := do(ctx, a, platform.Request{Path: path, Query: query}, &out); err != nil {
		return loop.Result{}, err
	}
	for i := range out.Issues {
		out.Issues[i].URL = link(a, out.Issues[i].Key)
	}
	return integration.Result(out, "%d issues", len(out.Issues))
}

type getInput struct {
	Key string `json:"key" rule:"required,min=1,max=100" about:"Such as ENG-12."`
}

func get(ctx context.Context, a integration.Account, in getInput) (loop.Result, error) {
	out, err := issueOf(ctx, a, in.Key, issueFields+",description,comment")
	if err != nil {
		return loop.Result{}, err
	}
	if c := out.Fields.Comments; c != nil {
		const latest = 20
		c.Comments = c.Comments[max(0, len(c.Comments)-latest):]
	}
	return integration.Result(out, "The issue %s", out.Key)
}

func issueOf(ctx context.Context, a integration.Account, key, fields string) (issue, error) {
	var out issue
	err := do(ctx, a, platform.Request{Path: platform.Path("issue/%s", key), Query: url.Values{"fields": {fields}}}, &out)
	out.URL = link(a, out.Key)
	return out, err
}

type findInput struct {
	Query string `json:"query" rule:"required,min=1,max=200"`
}

func findPeople(ctx context.Context, a integration.Account, in findInput) (loop.Result, error) {
	parameter := "query"
	if a.Credentials[token] != "" && a.Token == nil {
		parameter = "username" // Data Center
	}
	var out []struct {
		person
		Key    string `json:"name,omitempty"` // Data Center
		Mail   string `json:"emailAddress,omitempty"`
		Active bool   `json:"active"`
	}
	if err := do(ctx, a, platform.Request{Path: "user/search", Query: url.Values{parameter: {in.Query}, "maxResults": {"20"}}}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"people": out}, "%d people", len(out))
}

type createInput struct {
	Project     string   `json:"project" rule:"required,min=1,max=100" about:"The key of the project, such as ENG."`
	Type        string   `json:"type" rule:"required,min=1,max=100" about:"Such as Task or Bug."`
	Summary     string   `json:"summary" rule:"required,min=1,max=255"`
	Description string   `json:"description" rule:"max=20000"`
	Labels      []string `json:"labels" rule:"max=20"`
}

func create(ctx context.Context, a integration.Account, in createInput) (loop.Result, error) {
	fields := map[string]any{
		"project": map[string]any{"key": in.Project}, "issuetype": map[string]any{"name": in.Type}, "summary": in.Summary,
		"description": integration.Marked(ctx, in.Description),
	}
	if len(in.Labels) > 0 {
		fields["labels"] = in.Labels
	}
	var out issue
	if err := do(ctx, a, platform.Request{Method: http.MethodPost, Path: "issue", Body: map[string]any{"fields": fields}}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"id": out.ID, "key": out.Key, "url": link(a, out.Key)}, "%s was created", out.Key)
}

type commentInput struct {
	Key  string `json:"key" rule:"required,min=1,max=100"`
	Text string `json:"text" rule:"required,min=1,max=20000"`
}

func comment(ctx context.Context, a integration.Account, in commentInput) (loop.Result, error) {
	var out struct {
		ID string `json:"id"`
	}
	r := platform.Request{Method: http.MethodPost, Path: platform.Path("issue/%s/comment", in.Key), Body: map[string]any{"body": integration.Marked(ctx, in.Text)}}
	if err := do(ctx, a, r, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"id": out.ID, "url": link(a, in.Key)}, "A comment on %s", in.Key)
}

type transitionInput struct {
	Key    string `json:"key" rule:"required,min=1,max=100"`
	Status string `json:"status" rule:"required,min=1,max=100" about:"The name of the status, such as Done."`
}

func transition(ctx context.Context, a integration.Account, in transitionInput) (loop.Result, error) {
	var out struct {
		Transitions []struct {
			ID string `json:"id"`
			To named  `json:"to"`
		} `json:"transitions"`
	}
	path := platform.Path("issue/%s/transitions", in.Key)
	if err := do(ctx, a, platform.Request{Path: path}, &out); err != nil {
		return loop.Result{}, err
	}
	id, names := "", []string{}
	for _, t := range out.Transitions {
		names = append(names, t.To.Name)
		if strings.EqualFold(t.To.Name, in.Status) {
			id = t.ID
		}
	}
	if id == "" {
		now, err := issueOf(ctx, a, in.Key, "status")
		if err != nil {
			return loop.Result{}, err
		}
		if !strings.EqualFold(now.Fields.Status.Name, in.Status) {
			return loop.Result{}, &apierr.Error{Code: apierr.Conflict,
				Message: "The issue cannot move to this status now; it can move to " + strings.Join(names, ", ") + "."}
		}
	} else if err := do(ctx, a, platform.Request{Method: http.MethodPost, Path: path, Body: map[string]any{"transition": map[string]any{"id": id}}}, nil); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"key": in.Key, "status": in.Status, "url": link(a, in.Key)}, "%s is %s", in.Key, in.Status)
}

type assignInput struct {
	Key     string `json:"key" rule:"required,min=1,max=100"`
	Account string `json:"account_id" rule:"required,min=1,max=200" about:"Of find_people. At Data Center, the name of the user."`
}

func assign(ctx context.Context, a integration.Account, in assignInput) (loop.Result, error) {
	body := map[string]any{"accountId": in.Account}
	if a.Credentials[token] != "" && a.Token == nil {
		body = map[string]any{"name": in.Account}
	}
	if err := do(ctx, a, platform.Request{Method: http.MethodPut, Path: platform.Path("issue/%s/assignee", in.Key), Body: body}, nil); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"key": in.Key, "assignee": in.Account, "url": link(a, in.Key)}, "%s was assigned", in.Key)
}
