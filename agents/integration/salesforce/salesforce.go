package salesforce

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
)

const (
	optionURL = "url"
	token     = "token"
	title     = "Salesforce"
	example   = "https://acme.my.salesforce.com"
	version   = "/services/data/v62.0"
	maxRows   = 200
)

// Provider returns the provider.
func Provider() integration.Provider {
	tool := func(name, title, description string, risk policy.Risk) integration.Tool {
		return integration.Tool{Name: name, Title: title, Description: description, Risk: risk}
	}
	updateTool := tool("update_fields", "Change a record", "Changes fields of a record.", policy.Write)
	updateTool.Idempotent = true
	return integration.Provider{
		Name: "salesforce", Title: title, Summary: "Queries and reads records, creates tasks, logs notes and changes fields.", Group: integration.Business,
		Config: []connectors.Option{{
			Name: optionURL, Title: "Address", Help: "The address of the organisation. Not needed with a connected account.", Type: connectors.TypeString, Format: connectors.FormatURL,
			Destination: true, Example: example, Check: platform.CheckURL(example),
		}},
		Credentials: []connectors.Option{{Name: token, Title: "Access token", Help: "Connecting an account is better: a token ends after hours.", Type: connectors.TypeString, Sensitive: true}},
		OAuth:       &integration.OAuth{Provider: "salesforce", Scopes: []string{"api", "refresh_token"}},
		Check: func(ctx context.Context, a integration.Account) error {
			return api().Do(ctx, a, platform.Request{Path: "limits"}, nil)
		},
		Tools: []integration.Tool{
			integration.Define(tool("soql", "Query records", "Runs a SOQL query with at most "+strconv.Itoa(maxRows)+" rows, such as SELECT Id, Name FROM Account WHERE Industry = 'Energy'.", policy.Read), nil, query),
			integration.Define(tool("get_record", "Read a record", "Returns a record with all its fields, or with some.", policy.Read), nil, get),
			integration.Define(tool("create_task", "Create a task", "Creates a task for a record.", policy.Write), func(in taskInput) loop.Preview {
				return integration.Show("Create a task", integration.Field{Name: "Record", Value: in.ID}, integration.Field{Name: "Subject", Value: in.Subject},
					integration.Field{Name: "Text", Value: in.Text}, integration.Field{Name: "Due", Value: in.Due})
			}, createTask),
			integration.Define(tool("log_note", "Log a note", "Adds a note to a record, as a completed activity.", policy.Write), func(in noteInput) loop.Preview {
				return integration.Show("Log a note", integration.Field{Name: "Record", Value: in.ID}, integration.Field{Name: "Subject", Value: in.Subject}, integration.Field{Name: "Note", Value: in.Text})
			}, logNote),
			integration.Define(updateTool, func(in updateInput) loop.Preview {
				return integration.Show("Change a record", append([]integration.Field{{Name: "Object", Value: in.Object}, {Name: "Record", Value: in.ID}}, integration.Fields(in.Fields)...)...)
			}, update),
		},
	}
}

func api() platform.API {
	return platform.API{
		Name: title, Authorize: platform.Bearer(token), Advice: "config." + optionURL,
		Base: func(a integration.Account, details map[string]string) (string, error) {
			address := details["instance_url"]
			if address == "" {
				address = a.String(optionURL)
			}
			if address == "" {
				return "", errors.New("config.url is missing; enter the address of the organisation")
			}
			return strings.TrimRight(address, "/") + version, nil
		},
	}
}

// checkName returns an error for a text that cannot be the name of an object or field.
func checkName(field, name string) error {
	if !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,79}$`).MatchString(name) {
		return apierr.Invalid(field, "must be a name such as Account or Region__c")
	}
	return nil
}

type queryInput struct {
	Query string `json:"query" rule:"required,min=1,max=10000"`
}

// limited returns a query with a LIMIT of at most maxRows.
func limited(text string) (string, error) {
	text = strings.TrimRight(strings.TrimSpace(text), "; ")
	if !regexp.MustCompile(`(?is)^select\s`).MatchString(text) {
		return "", apierr.Invalid("query", "must be a SELECT statement")
	}
	tail := regexp.MustCompile(`(?is)^(.*)\slimit\s+(\d{1,9})(\s+offset\s+\d+)?$`).FindStringSubmatch(text)
	if tail == nil {
		if regexp.MustCompile(`(?is)\soffset\s+\d+$`).MatchString(text) {
			return "", apierr.Invalid("query", "needs a LIMIT before its OFFSET")
		}
		return text + " LIMIT " + strconv.Itoa(maxRows), nil
	}
	rows, err := strconv.Atoi(tail[2])
	if err != nil {
		return "", apierr.Invalid("query", "has a LIMIT that is no number")
	}
	return tail[1] + " LIMIT " + strconv.Itoa(min(rows, maxRows)) + tail[3], nil
}

func query(ctx context.Context, a integration.Account, in queryInput) (loop.Result, error) {
	text, err := limited(in.Query)
	if err != nil {
		return loop.Result{}, err
	}
	var out struct {
		Total   int               `json:"totalSize"`
		Records []json.RawMessage `json:"records"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: "query", Query: url.Values{"q": {text}}}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%d records", out.Total)
}

type getInput struct {
	Object string   `json:"object" rule:"required,min=1,max=80" about:"Such as Account."`
	ID     string   `json:"id" rule:"required,min=15,max=18"`
	Fields []string `json:"fields" rule:"max=100" about:"All when left out."`
}

func get(ctx context.Context, a integration.Account, in getInput) (loop.Result, error) {
	if err := checkName("object", in.Object); err != nil {
		return loop.Result{}, err
	}
	values := url.Values{}
	if len(in.Fields) > 0 {
		values.Set("fields", strings.Join(in.Fields, ","))
	}
	var out map[string]any
	if err := api().Do(ctx, a, platform.Request{Path: platform.Path("sobjects/%s/%s", in.Object, in.ID), Query: values}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "A record of %s", in.Object)
}

type taskInput struct {
	ID      string `json:"record_id" rule:"required,min=15,max=18"`
	Subject string `json:"subject" rule:"required,min=1,max=255"`
	Text    string `json:"text" rule:"max=10000"`
	Due     string `json:"due" rule:"max=10,format=date" about:"A day, YYYY-MM-DD."`
}

func createTask(ctx context.Context, a integration.Account, in taskInput) (loop.Result, error) {
	fields := map[string]any{"Subject": in.Subject, "Description": integration.Marked(ctx, in.Text), "Status": "Not Started"}
	if in.Due != "" {
		fields["ActivityDate"] = in.Due
	}
	return addTask(ctx, a, in.ID, fields)
}

type noteInput struct {
	ID      string `json:"record_id" rule:"required,min=15,max=18"`
	Subject string `json:"subject" rule:"required,min=1,max=255"`
	Text    string `json:"text" rule:"required,min=1,max=10000"`
}

func logNote(ctx context.Context, a integration.Account, in noteInput) (loop.Result, error) {
	return addTask(ctx, a, in.ID, map[string]any{
		"Subject": in.Subject, "Description": integration.Marked(ctx, in.Text), "Status": "Completed", "ActivityDate": a.Now().UTC().Format("2006-01-02"),
	})
}

// addTask creates a task. People are its "who", everything else is its "what".
func addTask(ctx context.Context, a integration.Account, record string, fields map[string]any) (loop.Result, error) {
	if strings.HasPrefix(record, "003") || strings.HasPrefix(record, "00Q") {
		fields["WhoId"] = record
	} else {
		fields["WhatId"] = record
	}
	var out struct {
		ID string `json:"id"`
	}
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: "sobjects/Task", Body: fields}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "A task was created")
}

type updateInput struct {
	Object string            `json:"object" rule:"required,min=1,max=80"`
	ID     string            `json:"id" rule:"required,min=15,max=18"`
	Fields map[string]string `json:"fields" rule:"required,min=1,max=50" about:"Names of fields and their new values."`
}

func update(ctx context.Context, a integration.Account, in updateInput) (loop.Result, error) {
	if err := checkName("object", in.Object); err != nil {
		return loop.Result{}, err
	}
	for name := range in.Fields {
		if err := checkName("fields", name); err != nil {
			return loop.Result{}, err
		}
	}
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPatch, Path: platform.Path("sobjects/%s/%s", in.Object, in.ID), Body: in.Fields}, nil); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"id": in.ID, "changed": in.Fields}, "A record of %s was changed", in.Object)
}
