package posthog

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
)

const (
	optionURL     = "url"
	optionProject = "projectId"
	key           = "personalApiKey"
	title         = "PostHog"
)

// Provider returns the provider.
func Provider() integration.Provider {
	tool := func(name, title, description string, risk policy.Risk) integration.Tool {
		return integration.Tool{Name: name, Title: title, Description: description, Risk: risk}
	}
	return integration.Provider{
		Name: "posthog", Title: title, Summary: "Queries events by HogQL, shows insights and feature flags, and adds annotations.", Group: integration.Analytics,
		Config: []connectors.Option{
			{Name: optionProject, Title: "Project", Help: "Its id, the number in addresses of PostHog.", Type: connectors.TypeInteger, Required: true, Min: 1, Max: 2_000_000_000, Example: "12345"},
			{
				Name: optionURL, Title: "Address", Help: "That of your region, such as https://eu.posthog.com, or of your own installation.", Type: connectors.TypeString,
				Format: connectors.FormatURL, Destination: true, Default: "https://us.posthog.com", Example: "https://eu.posthog.com", Check: platform.CheckURL("https://eu.posthog.com"),
			},
		},
		Credentials: []connectors.Option{{Name: key, Title: "Personal API key", Help: "With the scopes query, insight and feature_flag for reading, and annotation.", Type: connectors.TypeString, Required: true, Sensitive: true}},
		Check: func(ctx context.Context, a integration.Account) error {
			return api().Do(ctx, a, platform.Request{Path: project(a, "insights/"), Query: url.Values{"limit": {"1"}}}, nil)
		},
		Tools: []integration.Tool{
			integration.Define(tool("hogql_query", "Query events", "Runs a HogQL query (SQL over events, persons and sessions) and returns at most 100 rows.", policy.Read), nil, query),
			integration.Define(tool("list_insights", "List insights", "Finds saved insights by words.", policy.Read), nil, listInsights),
			integration.Define(tool("get_insight", "Read an insight", "Returns a saved insight with its last result.", policy.Read), nil, getInsight),
			integration.Define(tool("list_feature_flags", "List feature flags", "Lists feature flags with their keys and whether they are active.", policy.Read), nil, listFlags),
			integration.Define(tool("create_annotation", "Annotate charts", "Adds an annotation to the charts of the project at this time.", policy.Write), func(in annotateInput) loop.Preview {
				return integration.Show("Add an annotation", integration.Field{Name: "Text", Value: in.Text})
			}, annotate),
		},
	}
}

func api() platform.API {
	return platform.API{Name: title, Base: platform.URL(optionURL, "/api"), Authorize: platform.Bearer(key), Advice: "config." + optionURL}
}

// project returns the path of something in the project.
func project(a integration.Account, rest string, parts ...string) string {
	return platform.Path("projects/%s/"+rest, append([]string{strconv.FormatInt(a.Integer(optionProject), 10)}, parts...)...)
}

type queryInput struct {
	Query string `json:"query" rule:"required,min=1,max=10000" about:"Such as SELECT event, count() FROM events WHERE timestamp > now() - INTERVAL 7 DAY GROUP BY event."`
}

func query(ctx context.Context, a integration.Account, in queryInput) (loop.Result, error) {
	const maxRows = 100
	var out struct {
		Columns []string `json:"columns"`
		Results [][]any  `json:"results"`
		More    bool     `json:"hasMore"`
	}
	body := map[string]any{"query": map[string]any{"kind": "HogQLQuery", "query": in.Query}}
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Reads: true, Path: project(a, "query/"), Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	out.More = out.More || len(out.Results) > maxRows
	out.Results = out.Results[:min(len(out.Results), maxRows)]
	return integration.Result(out, "%d rows", len(out.Results))
}

type insight struct {
	ID          int64           `json:"id"`
	ShortID     string          `json:"short_id"`
	Name        string          `json:"name"`
	Derived     string          `json:"derived_name,omitempty"`
	Description string          `json:"description,omitempty"`
	Modified    string          `json:"last_modified_at,omitempty"`
	Query       json.RawMessage `json:"query,omitempty"`
	Result      json.RawMessage `json:"result,omitempty"`
}

// RequiredFields implements the check of answers.
func (insight) RequiredFields() []string { return []string{"id"} }

type listInput struct {
	Search string `json:"search" rule:"max=200"`
	Limit  int    `json:"limit" rule:"min=1,max=50" about:"20 when left out."`
}

func (in listInput) values() url.Values {
	if in.Limit == 0 {
		in.Limit = 20
	}
	values := url.Values{"limit": {strconv.Itoa(in.Limit)}}
	if in.Search != "" {
		values.Set("search", in.Search)
	}
	return values
}

func listInsights(ctx context.Context, a integration.Account, in listInput) (loop.Result, error) {
	var out struct {
		Results []insight `json:"results"`
	}
	values := in.values()
	values.Set("saved", "true")
	values.Set("basic", "true")
	if err := api().Do(ctx, a, platform.Request{Path: project(a, "insights/"), Query: values}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%d insights", len(out.Results))
}

type insightInput struct {
	Insight int `json:"insight_id" rule:"required,min=1,max=2000000000"`
}

func getInsight(ctx context.Context, a integration.Account, in insightInput) (loop.Result, error) {
	var out insight
	if err := api().Do(ctx, a, platform.Request{Path: project(a, "insights/%s/", strconv.Itoa(in.Insight))}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "The insight %s", out.Name+out.Derived)
}

func listFlags(ctx context.Context, a integration.Account, in listInput) (loop.Result, error) {
	var out struct {
		Results []struct {
			ID     int64  `json:"id"`
			Key    string `json:"key"`
			Name   string `json:"name"`
			Active bool   `json:"active"`
		} `json:"results"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: project(a, "feature_flags/"), Query: in.values()}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%d feature flags", len(out.Results))
}

type annotateInput struct {
	Text string `json:"text" rule:"required,min=1,max=1000"`
}

func annotate(ctx context.Context, a integration.Account, in annotateInput) (loop.Result, error) {
	var out struct {
		ID int64 `json:"id"`
	}
	body := map[string]any{"content": integration.Marked(ctx, in.Text), "date_marker": a.Now().UTC().Format(time.RFC3339), "scope": "project"}
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: project(a, "annotations/"), Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "An annotation was added")
}
