package hubspot

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
)

const (
	optionAPI = "apiUrl"
	token     = "token"
	title     = "HubSpot"
)

// Provider returns the provider.
func Provider() integration.Provider {
	tool := func(name, title, description string, risk policy.Risk, scopes ...string) integration.Tool {
		return integration.Tool{Name: name, Title: title, Description: description, Risk: risk, Scopes: scopes}
	}
	updateTool := tool("update_fields", "Change a record", "Changes properties of a record.", policy.Write, "crm.objects.contacts.write", "crm.objects.companies.write", "crm.objects.deals.write")
	updateTool.Idempotent = true
	record := func(in recordInput) []integration.Field {
		return []integration.Field{{Name: "Object", Value: in.Object}, {Name: "Record", Value: in.ID}}
	}
	return integration.Provider{
		Name: "hubspot", Title: title, Summary: "Finds and reads contacts, companies, deals and tickets, logs notes, creates tasks and changes properties.", Group: integration.Business,
		Config: []connectors.Option{platform.AddressOption(optionAPI, "https://api.hubapi.com")},
		Credentials: []connectors.Option{{
			Name: token, Title: "Access token", Help: "Of a private app with the scopes of the objects.", Type: connectors.TypeString, Sensitive: true,
		}},
		OAuth: &integration.OAuth{Provider: "hubspot", Scopes: []string{"oauth", "crm.objects.contacts.read", "crm.objects.companies.read", "crm.objects.deals.read"}},
		Check: func(ctx context.Context, a integration.Account) error {
			return api().Do(ctx, a, platform.Request{Path: "crm/v3/objects/contacts", Query: url.Values{"limit": {"1"}}}, nil)
		},
		Tools: []integration.Tool{
			integration.Define(tool("search", "Search records", "Finds records that have the words in their main properties, such as name or mail address.", policy.Read), nil, search),
			integration.Define(tool("get_record", "Read a record", "Returns the properties of a record.", policy.Read), nil, get),
			integration.Define(tool("log_note", "Log a note", "Adds a note to a record.", policy.Write, "crm.objects.contacts.write"), func(in noteInput) loop.Preview {
				return integration.Show("Log a note", append(record(in.record()), integration.Field{Name: "Note", Value: in.Text})...)
			}, logNote),
			integration.Define(tool("create_task", "Create a task", "Creates a task for a record.", policy.Write, "crm.objects.contacts.write"), func(in taskInput) loop.Preview {
				return integration.Show("Create a task", append(record(in.record()), integration.Field{Name: "Subject", Value: in.Subject},
					integration.Field{Name: "Text", Value: in.Text}, integration.Field{Name: "Due in hours", Value: strconv.Itoa(in.Hours)})...)
			}, createTask),
			integration.Define(updateTool, func(in updateInput) loop.Preview {
				return integration.Show("Change a record", append(record(in.record()), integration.Fields(in.Properties)...)...)
			}, update),
		},
	}
}

func api() platform.API {
	return platform.API{Name: title, Base: platform.URL(optionAPI, ""), Authorize: platform.Bearer(token), Advice: "config." + optionAPI}
}

type recordInput struct{ Object, ID string }

type result struct {
	ID         string            `json:"id"`
	Properties map[string]string `json:"properties"`
	CreatedAt  string            `json:"createdAt,omitempty"`
	UpdatedAt  string            `json:"updatedAt,omitempty"`
	URL        string            `json:"url,omitempty"`
}

// RequiredFields implements the check of answers.
func (result) RequiredFields() []string { return []string{"id"} }

// shown returns the properties that are read of an object without a choice of the
// model.
func shown(object string) []string {
	return map[string][]string{
		"contacts": {"firstname", "lastname", "email", "phone", "company", "jobtitle", "lifecyclestage"}, "companies": {"name", "domain", "industry", "phone", "city", "country"},
		"deals":   {"dealname", "dealstage", "amount", "closedate", "pipeline", "hubspot_owner_id"},
		"tickets": {"subject", "content", "hs_pipeline_stage", "hs_ticket_priority"},
	}[object]
}

type searchInput struct {
	Object string `json:"object" rule:"required,enum=contacts|companies|deals|tickets"`
	Query  string `json:"query" rule:"required,min=1,max=500"`
	Limit  int    `json:"limit" rule:"min=1,max=50" about:"20 when left out."`
}

func search(ctx context.Context, a integration.Account, in searchInput) (loop.Result, error) {
	if in.Limit == 0 {
		in.Limit = 20
	}
	var out struct {
		Total   int      `json:"total"`
		Results []result `json:"results"`
	}
	r := platform.Request{Method: http.MethodPost, Reads: true, Path: platform.Path("crm/v3/objects/%s/search", in.Object), Body: map[string]any{
		"query": in.Query, "limit": in.Limit, "properties": shown(in.Object),
	}}
	if err := api().Do(ctx, a, r, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%d records found", out.Total)
}

type getInput struct {
	Object     string   `json:"object" rule:"required,enum=contacts|companies|deals|tickets"`
	ID         string   `json:"id" rule:"required,min=1,max=40"`
	Properties []string `json:"properties" rule:"max=50" about:"The usual ones when left out."`
}

func get(ctx context.Context, a integration.Account, in getInput) (loop.Result, error) {
	if len(in.Properties) == 0 {
		in.Properties = shown(in.Object)
	}
	var out result
	r := platform.Request{Path: platform.Path("crm/v3/objects/%s/%s", in.Object, in.ID), Query: url.Values{"properties": {strings.Join(in.Properties, ",")}}}
	if err := api().Do(ctx, a, r, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "A record of %s", in.Object)
}

type noteInput struct {
	Object string `json:"object" rule:"required,enum=contacts|companies|deals|tickets"`
	ID     string `json:"id" rule:"required,min=1,max=40"`
	Text   string `json:"text" rule:"required,min=1,max=20000"`
}

func (in noteInput) record() recordInput { return recordInput{in.Object, in.ID} }

func logNote(ctx context.Context, a integration.Account, in noteInput) (loop.Result, error) {
	return attach(ctx, a, "notes", in.record(), map[string]string{"hs_note_body": integration.Marked(ctx, in.Text)})
}

type taskInput struct {
	Object  string `json:"object" rule:"required,enum=contacts|companies|deals|tickets"`
	ID      string `json:"id" rule:"required,min=1,max=40"`
	Subject string `json:"subject" rule:"required,min=1,max=250"`
	Text    string `json:"text" rule:"max=5000"`
	Hours   int    `json:"due_in_hours" rule:"required,min=1,max=8760"`
}

func (in taskInput) record() recordInput { return recordInput{in.Object, in.ID} }

func createTask(ctx context.Context, a integration.Account, in taskInput) (loop.Result, error) {
	due := a.Now().UTC().Add(time.Duration(in.Hours) * time.Hour).Format(time.RFC3339)
	return attach(ctx, a, "tasks", in.record(), map[string]string{
		"hs_task_subject": in.Subject, "hs_task_body": integration.Marked(ctx, in.Text), "hs_task_status": "NOT_STARTED", "hs_timestamp": due,
	})
}

// associationType returns HubSpot's number for the association of a note or task with
// an object.
func associationType(made, object string) int {
	return map[string]map[string]int{
		"notes": {"contacts": 202, "companies": 190, "deals": 214, "tickets": 228},
		"tasks": {"contacts": 204, "companies": 192, "deals": 216, "tickets": 230},
	}[made][object]
}

func attach(ctx context.Context, a integration.Account, kind string, to recordInput, properties map[string]string) (loop.Result, error) {
	if properties["hs_timestamp"] == "" {
		properties["hs_timestamp"] = a.Now().UTC().Format(time.RFC3339)
	}
	body := map[string]any{"properties": properties, "associations": []any{map[string]any{
		"to":    map[string]any{"id": to.ID},
		"types": []any{map[string]any{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": associationType(kind, to.Object)}},
	}}}
	var out result
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: "crm/v3/objects/" + kind, Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"id": out.ID, "attached_to": to.Object + "/" + to.ID}, "One of %s was added", kind)
}

type updateInput struct {
	Object     string            `json:"object" rule:"required,enum=contacts|companies|deals|tickets"`
	ID         string            `json:"id" rule:"required,min=1,max=40"`
	Properties map[string]string `json:"properties" rule:"required,min=1,max=50" about:"Internal names of properties and their new values."`
}

func (in updateInput) record() recordInput { return recordInput{in.Object, in.ID} }

func update(ctx context.Context, a integration.Account, in updateInput) (loop.Result, error) {
	var out result
	r := platform.Request{Method: http.MethodPatch, Path: platform.Path("crm/v3/objects/%s/%s", in.Object, in.ID), Body: map[string]any{"properties": in.Properties}}
	if err := api().Do(ctx, a, r, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "A record of %s was changed", in.Object)
}
