package sentry

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
)

const (
	optionURL = "url"
	optionOrg = "organization"
	token     = "token"
	title     = "Sentry"
)

// Provider returns the provider.
func Provider() integration.Provider {
	tool := func(name, title, description string, risk policy.Risk) integration.Tool {
		return integration.Tool{Name: name, Title: title, Description: description, Risk: risk}
	}
	statusTool := tool("update_issue", "Change the status of an issue", "Resolves, ignores or reopens an issue.", policy.Write)
	statusTool.Idempotent = true
	return integration.Provider{
		Name: "sentry", Title: title, Summary: "Finds issues and their events, comments on them and changes their status.", Group: integration.Observability,
		Config: []connectors.Option{
			{Name: optionOrg, Title: "Organization", Help: "Its slug, as in addresses of Sentry.", Type: connectors.TypeString, Required: true, Example: "acme"},
			platform.AddressOption(optionURL, "https://sentry.io"),
		},
		Credentials: []connectors.Option{{
			Name: token, Title: "Token", Help: "An auth token with event:read, project:read, and event:write to change issues.", Type: connectors.TypeString, Required: true, Sensitive: true,
		}},
		Check: func(ctx context.Context, a integration.Account) error {
			return api().Do(ctx, a, platform.Request{Path: organization(a, "")}, nil)
		},
		Tools: []integration.Tool{
			integration.Define(tool("list_projects", "List projects", "Lists the projects of the organization.", policy.Read), nil, listProjects),
			integration.Define(tool("search_issues", "Search issues", "Finds issues by Sentry's search, such as is:unresolved level:error checkout.", policy.Read), nil, search),
			integration.Define(tool("get_issue", "Read an issue", "Returns an issue with its counts and assignee.", policy.Read), nil, getIssue),
			integration.Define(tool("get_event", "Read an event", "Returns an event of an issue with its stack trace; the latest unless an id is given.", policy.Read), nil, getEvent),
			integration.Define(tool("add_comment", "Comment on an issue", "Adds a comment to an issue.", policy.Write), func(in commentInput) loop.Preview {
				return integration.Show("Comment on the issue "+in.Issue, integration.Field{Name: "Issue", Value: in.Issue}, integration.Field{Name: "Comment", Value: in.Text})
			}, comment),
			integration.Define(statusTool, func(in statusInput) loop.Preview {
				return integration.Show("Change the issue "+in.Issue+" to "+in.Status, integration.Field{Name: "Issue", Value: in.Issue}, integration.Field{Name: "Status", Value: in.Status})
			}, setStatus),
		},
	}
}

func api() platform.API {
	return platform.API{Name: title, Base: platform.URL(optionURL, "/api/0"), Authorize: platform.Bearer(token), Advice: "config." + optionURL}
}

// organization returns the path of something in the organization.
func organization(a integration.Account, rest string, parts ...string) string {
	return platform.Path("organizations/%s/"+rest, append([]string{a.String(optionOrg)}, parts...)...)
}

type noInput struct{}

func listProjects(ctx context.Context, a integration.Account, _ noInput) (loop.Result, error) {
	var out []struct {
		ID       string `json:"id"`
		Slug     string `json:"slug"`
		Platform string `json:"platform,omitempty"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: organization(a, "projects/")}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"projects": out}, "%d projects", len(out))
}

type issue struct {
	ID        string          `json:"id"`
	ShortID   string          `json:"shortId"`
	Title     string          `json:"title"`
	Culprit   string          `json:"culprit,omitempty"`
	Status    string          `json:"status"`
	Level     string          `json:"level,omitempty"`
	Count     json.RawMessage `json:"count,omitempty"`
	UserCount int             `json:"userCount"`
	FirstSeen string          `json:"firstSeen,omitempty"`
	LastSeen  string          `json:"lastSeen,omitempty"`
	Permalink string          `json:"permalink"`
	Assigned  *struct {
		Name string `json:"name"`
	} `json:"assignedTo,omitempty"`
	Project struct {
		Slug string `json:"slug"`
	} `json:"project"`
}

// RequiredFields implements the check of answers.
func (issue) RequiredFields() []string { return []string{"id"} }

type searchInput struct {
	Query  string `json:"query" rule:"required,min=1,max=500"`
	Period string `json:"period" rule:"enum=24h|7d|14d|30d|90d" about:"14d when left out."`
	Limit  int    `json:"limit" rule:"min=1,max=50" about:"20 when left out."`
}

func search(ctx context.Context, a integration.Account, in searchInput) (loop.Result, error) {
	if in.Limit == 0 {
		in.Limit = 20
	}
	if in.Period == "" {
		in.Period = "14d"
	}
	var out []issue
	query := url.Values{"query": {in.Query}, "statsPeriod": {in.Period}, "limit": {strconv.Itoa(in.Limit)}}
	if err := api().Do(ctx, a, platform.Request{Path: organization(a, "issues/"), Query: query}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"issues": out}, "%d issues", len(out))
}

type issueInput struct {
	Issue string `json:"issue_id" rule:"required,min=1,max=40" about:"The id, a number, not the short id."`
}

func getIssue(ctx context.Context, a integration.Account, in issueInput) (loop.Result, error) {
	var out issue
	if err := api().Do(ctx, a, platform.Request{Path: organization(a, "issues/%s/", in.Issue)}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "The issue %s", out.ShortID)
}

type eventInput struct {
	Issue string `json:"issue_id" rule:"required,min=1,max=40"`
	Event string `json:"event_id" rule:"max=40" about:"latest when left out."`
}

type exception struct {
	Type       string `json:"type"`
	Value      string `json:"value"`
	Stacktrace *struct {
		Frames []struct {
			File     string `json:"filename"`
			Function string `json:"function"`
			Line     int    `json:"lineNo"`
			InApp    bool   `json:"inApp"`
		} `json:"frames"`
	} `json:"stacktrace,omitempty"`
}

func getEvent(ctx context.Context, a integration.Account, in eventInput) (loop.Result, error) {
	if in.Event == "" {
		in.Event = "latest"
	}
	var out struct {
		ID      string `json:"eventID"`
		Title   string `json:"title"`
		Message string `json:"message,omitempty"`
		Created string `json:"dateCreated"`
		Tags    []struct {
			Key   string `json:"key"`
			Value string `json:"value"`
		} `json:"tags"`
		Entries []struct {
			Type string          `json:"type"`
			Data json.RawMessage `json:"data"`
		} `json:"entries,omitempty"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: organization(a, "issues/%s/events/%s/", in.Issue, in.Event)}, &out); err != nil {
		return loop.Result{}, err
	}
	var exceptions []exception
	for _, e := range out.Entries {
		var data struct {
			Values []exception `json:"values"`
		}
		if e.Type == "exception" && json.Unmarshal(e.Data, &data) == nil {
			exceptions = append(exceptions, data.Values...)
		}
	}
	for _, e := range exceptions {
		if s := e.Stacktrace; s != nil { // the call that failed is last
			const innermost = 30
			s.Frames = s.Frames[max(0, len(s.Frames)-innermost):]
		}
	}
	out.Entries = nil
	return integration.Result(map[string]any{"event": out, "exceptions": exceptions}, "An event of the issue %s", in.Issue)
}

type commentInput struct {
	Issue string `json:"issue_id" rule:"required,min=1,max=40"`
	Text  string `json:"text" rule:"required,min=1,max=5000"`
}

func comment(ctx context.Context, a integration.Account, in commentInput) (loop.Result, error) {
	var out struct {
		ID string `json:"id"`
	}
	r := platform.Request{Method: http.MethodPost, Path: platform.Path("issues/%s/comments/", in.Issue), Body: map[string]any{"text": integration.Marked(ctx, in.Text)}}
	if err := api().Do(ctx, a, r, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "A comment was added")
}

type statusInput struct {
	Issue  string `json:"issue_id" rule:"required,min=1,max=40"`
	Status string `json:"status" rule:"required,enum=resolved|unresolved|ignored"`
}

func setStatus(ctx context.Context, a integration.Account, in statusInput) (loop.Result, error) {
	var out issue
	r := platform.Request{Method: http.MethodPut, Path: organization(a, "issues/%s/", in.Issue), Body: map[string]any{"status": in.Status}}
	if err := api().Do(ctx, a, r, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "The issue %s is %s", out.ShortID, out.Status)
}
