package pagerduty

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
)

const (
	optionAPI  = "apiUrl"
	optionFrom = "from"
	token      = "token"
	title      = "PagerDuty"
)

// Provider returns the provider.
func Provider() integration.Provider {
	tool := func(name, title, description string, risk policy.Risk) integration.Tool {
		return integration.Tool{Name: name, Title: title, Description: description, Risk: risk}
	}
	acknowledgeTool := tool("acknowledge", "Acknowledge an incident", "Acknowledges an incident, which stops its escalation.", policy.Write)
	resolveTool := tool("resolve", "Resolve an incident", "Resolves an incident.", policy.Write)
	triggerTool := tool("trigger", "Trigger an incident", "Opens an incident for a service. The people on call are notified at once.", policy.Send)
	// A state is set again without effect, and an incident has the key of its call.
	acknowledgeTool.Idempotent, resolveTool.Idempotent, triggerTool.Idempotent = true, true, true
	return integration.Provider{
		Name: "pagerduty", Title: title, Summary: "Shows who is on call and the incidents, and acknowledges, resolves and triggers them.", Group: integration.OnCall,
		Config: []connectors.Option{
			{
				Name: optionFrom, Title: "Mail address", Help: "Of the PagerDuty user in whose name incidents are changed.", Type: connectors.TypeString, Required: true,
				Format: connectors.FormatEmail, Example: "ada@example.com",
			},
			platform.AddressOption(optionAPI, "https://api.pagerduty.com"),
		},
		Credentials: []connectors.Option{{Name: token, Title: "API key", Help: "A user's or a general access REST API key.", Type: connectors.TypeString, Required: true, Sensitive: true}},
		Check: func(ctx context.Context, a integration.Account) error {
			return api(a).Do(ctx, a, platform.Request{Path: "abilities"}, nil)
		},
		Tools: []integration.Tool{
			integration.Define(tool("oncalls", "Show who is on call", "Lists who is on call now, by escalation policy and level.", policy.Read), nil, oncalls),
			integration.Define(tool("list_services", "List services", "Lists services with their ids.", policy.Read), nil, listServices),
			integration.Define(tool("list_incidents", "List incidents", "Lists the latest incidents, newest first.", policy.Read), nil, listIncidents),
			integration.Define(tool("get_incident", "Read an incident", "Returns an incident with its notes.", policy.Read), nil, getIncident),
			integration.Define(acknowledgeTool, preview("Acknowledge"), setStatus("acknowledged")),
			integration.Define(resolveTool, preview("Resolve"), setStatus("resolved")),
			integration.Define(tool("add_note", "Add a note", "Adds a note to an incident.", policy.Write), func(in noteInput) loop.Preview {
				return integration.Show("Add a note to the incident "+in.ID, integration.Field{Name: "Incident", Value: in.ID}, integration.Field{Name: "Note", Value: in.Text})
			}, addNote),
			integration.Define(triggerTool, func(in triggerInput) loop.Preview {
				return integration.Show("Trigger an incident and notify the people on call", integration.Field{Name: "Service", Value: in.Service},
					integration.Field{Name: "Title", Value: in.Title}, integration.Field{Name: "Urgency", Value: in.Urgency}, integration.Field{Name: "Details", Value: in.Details})
			}, trigger),
		},
	}
}

func api(a integration.Account) platform.API {
	return platform.API{
		Name: title, Base: platform.URL(optionAPI, ""), Advice: "config." + optionAPI,
		Header: http.Header{"Accept": {"application/vnd.pagerduty+json;version=2"}, "From": {a.String(optionFrom)}},
		Authorize: func(r *http.Request, a integration.Account, _ string) error {
			if a.Credentials[token] == "" {
				return platform.Missing(token)
			}
			r.Header.Set("Authorization", "Token token="+a.Credentials[token])
			return nil
		},
	}
}

type reference struct {
	ID      string `json:"id"`
	Summary string `json:"summary,omitempty"`
	URL     string `json:"html_url,omitempty"`
}

type noInput struct{}

func oncalls(ctx context.Context, a integration.Account, _ noInput) (loop.Result, error) {
	var out struct {
		Oncalls []struct {
			User     reference  `json:"user"`
			Policy   reference  `json:"escalation_policy"`
			Level    int        `json:"escalation_level"`
			Schedule *reference `json:"schedule,omitempty"`
			Start    string     `json:"start,omitempty"`
			End      string     `json:"end,omitempty"`
		} `json:"oncalls"`
	}
	if err := api(a).Do(ctx, a, platform.Request{Path: "oncalls", Query: url.Values{"limit": {"100"}, "earliest": {"true"}}}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%d are on call", len(out.Oncalls))
}

type servicesInput struct {
	Query string `json:"query" rule:"max=100" about:"A part of the name."`
}

func listServices(ctx context.Context, a integration.Account, in servicesInput) (loop.Result, error) {
	var out struct {
		Services []struct {
			reference
			Status string `json:"status"`
		} `json:"services"`
	}
	query := url.Values{"limit": {"100"}}
	if in.Query != "" {
		query.Set("query", in.Query)
	}
	if err := api(a).Do(ctx, a, platform.Request{Path: "services", Query: query}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%d services", len(out.Services))
}

type incident struct {
	ID          string    `json:"id"`
	Number      int       `json:"incident_number"`
	Title       string    `json:"title"`
	Status      string    `json:"status"`
	Urgency     string    `json:"urgency"`
	CreatedAt   string    `json:"created_at"`
	URL         string    `json:"html_url"`
	Service     reference `json:"service"`
	Assignments []struct {
		Assignee reference `json:"assignee"`
	} `json:"assignments,omitempty"`
}

type listInput struct {
	Statuses []string `json:"statuses" rule:"max=3" about:"Of triggered, acknowledged and resolved; the first two when left out."`
	Limit    int      `json:"limit" rule:"min=1,max=50" about:"20 when left out."`
}

func listIncidents(ctx context.Context, a integration.Account, in listInput) (loop.Result, error) {
	if in.Limit == 0 {
		in.Limit = 20
	}
	if len(in.Statuses) == 0 {
		in.Statuses = []string{"triggered", "acknowledged"}
	}
	var out struct {
		Incidents []incident `json:"incidents"`
		More      bool       `json:"more"`
	}
	query := url.Values{"statuses[]": in.Statuses, "limit": {strconv.Itoa(in.Limit)}, "sort_by": {"created_at:desc"}}
	if err := api(a).Do(ctx, a, platform.Request{Path: "incidents", Query: query}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%d incidents", len(out.Incidents))
}

type idInput struct {
	ID string `json:"incident_id" rule:"required,min=1,max=40"`
}

func getIncident(ctx context.Context, a integration.Account, in idInput) (loop.Result, error) {
	var out struct {
		Incident incident `json:"incident"`
		Notes    []struct {
			User      reference `json:"user"`
			Content   string    `json:"content"`
			CreatedAt string    `json:"created_at"`
		} `json:"notes"`
	}
	path := platform.Path("incidents/%s", in.ID)
	if err := api(a).Do(ctx, a, platform.Request{Path: path}, &out); err != nil {
		return loop.Result{}, err
	}
	if err := api(a).Do(ctx, a, platform.Request{Path: path + "/notes"}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "The incident %s", out.Incident.Title)
}

func preview(verb string) func(in idInput) loop.Preview {
	return func(in idInput) loop.Preview {
		return integration.Show(verb+" the incident "+in.ID, integration.Field{Name: "Incident", Value: in.ID})
	}
}

func setStatus(status string) func(ctx context.Context, a integration.Account, in idInput) (loop.Result, error) {
	return func(ctx context.Context, a integration.Account, in idInput) (loop.Result, error) {
		body := map[string]any{"incident": map[string]any{"type": "incident_reference", "status": status}}
		return change(ctx, a, platform.Request{Method: http.MethodPut, Path: platform.Path("incidents/%s", in.ID), Body: body}, "The incident is "+status)
	}
}

func change(ctx context.Context, a integration.Account, r platform.Request, summary string) (loop.Result, error) {
	var out struct {
		Incident incident `json:"incident"`
	}
	if err := api(a).Do(ctx, a, r, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out.Incident, "%s", summary)
}

type noteInput struct {
	ID   string `json:"incident_id" rule:"required,min=1,max=40"`
	Text string `json:"text" rule:"required,min=1,max=5000"`
}

func addNote(ctx context.Context, a integration.Account, in noteInput) (loop.Result, error) {
	var out struct {
		Note struct {
			ID string `json:"id"`
		} `json:"note"`
	}
	body := map[string]any{"note": map[string]any{"content": integration.Marked(ctx, in.Text)}}
	if err := api(a).Do(ctx, a, platform.Request{Method: http.MethodPost, Path: platform.Path("incidents/%s/notes", in.ID), Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"note_id": out.Note.ID}, "A note was added")
}

type triggerInput struct {
	Service string `json:"service_id" rule:"required,min=1,max=40"`
	Title   string `json:"title" rule:"required,min=1,max=255"`
	Urgency string `json:"urgency" rule:"enum=high|low"`
	Details string `json:"details" rule:"max=5000"`
}

// trigger opens an incident whose key is that of the call: PagerDuty refuses a second
// open incident with it, and the first one is returned.
func trigger(ctx context.Context, a integration.Account, in triggerInput) (loop.Result, error) {
	made := map[string]any{
		"type": "incident", "title": in.Title, "service": map[string]any{"id": in.Service, "type": "service_reference"},
		"body": map[string]any{"type": "incident_body", "details": integration.Marked(ctx, in.Details)},
	}
	key := loop.CallInfoFrom(ctx).Key
	if key != "" {
		made["incident_key"] = key
	}
	if in.Urgency != "" {
		made["urgency"] = in.Urgency
	}
	result, err := change(ctx, a, platform.Request{Method: http.MethodPost, Path: "incidents", Body: map[string]any{"incident": made}}, "An incident was triggered")
	if err == nil || key == "" || apierr.From(err).Code != apierr.InvalidRequest {
		return result, err
	}
	var earlier struct {
		Incidents []incident `json:"incidents"`
	}
	failure := api(a).Do(ctx, a, platform.Request{Path: "incidents", Query: url.Values{"incident_key": {key}}}, &earlier)
	if failure != nil || len(earlier.Incidents) == 0 {
		return loop.Result{}, err
	}
	return integration.Result(earlier.Incidents[0], "An incident was triggered")
}
