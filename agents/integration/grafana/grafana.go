package grafana

import (
	"context"
	"encoding/json"
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
	"github.com/magpie-search/magpie/internal/apierr"
)

const (
	optionURL = "url"
	token     = "token"
	title     = "Grafana"
	example   = "https://acme.grafana.net"
)

// Provider returns the provider.
func Provider() integration.Provider {
	tool := func(name, title, description string, risk policy.Risk) integration.Tool {
		return integration.Tool{Name: name, Title: title, Description: description, Risk: risk}
	}
	return integration.Provider{
		Name: "grafana", Title: title, Summary: "Finds dashboards, queries their data sources, shows alerts and annotations.", Group: integration.Observability,
		Config: []connectors.Option{{
			Name: optionURL, Title: "Address", Help: "The address at which people open Grafana.", Type: connectors.TypeString, Required: true, Format: connectors.FormatURL,
			Destination: true, Example: example, Check: platform.CheckURL(example),
		}},
		Credentials: []connectors.Option{{Name: token, Title: "Token", Help: "Of a service account; the role Viewer is enough for reading.", Type: connectors.TypeString, Required: true, Sensitive: true}},
		Check: func(ctx context.Context, a integration.Account) error {
			return api().Do(ctx, a, platform.Request{Path: "api/search", Query: url.Values{"limit": {"1"}}}, nil)
		},
		Tools: []integration.Tool{
			integration.Define(tool("search_dashboards", "Search dashboards", "Finds dashboards by a part of their title.", policy.Read), nil, search),
			integration.Define(tool("get_dashboard", "Read a dashboard", "Returns the panels of a dashboard with their queries.", policy.Read), nil, getDashboard),
			integration.Define(tool("list_datasources", "List data sources", "Lists data sources with their uids and types.", policy.Read), nil, listSources),
			integration.Define(tool("query_datasource", "Query a data source", "Runs an expression in a data source that has them, such as PromQL or LogQL.", policy.Read), nil, query),
			integration.Define(tool("alerts", "Show alerts", "Lists the alerts that Grafana's own alert manager has now.", policy.Read), nil, alerts),
			integration.Define(tool("list_annotations", "List annotations", "Lists the annotations of the last hours.", policy.Read), nil, listAnnotations),
			integration.Define(tool("create_annotation", "Annotate dashboards", "Adds an annotation at this time, to a dashboard or to all that show the tags.", policy.Write), func(in annotateInput) loop.Preview {
				return integration.Show("Add an annotation", integration.Field{Name: "Text", Value: in.Text}, integration.Field{Name: "Tags", Value: strings.Join(in.Tags, ", ")},
					integration.Field{Name: "Dashboard", Value: in.Dashboard})
			}, annotate),
		},
	}
}

func api() platform.API {
	return platform.API{Name: title, Base: platform.URL(optionURL, ""), Authorize: platform.Bearer(token), Advice: "config." + optionURL}
}

type searchInput struct {
	Query string `json:"query" rule:"required,min=1,max=200"`
}

func search(ctx context.Context, a integration.Account, in searchInput) (loop.Result, error) {
	var out []struct {
		UID    string   `json:"uid"`
		Title  string   `json:"title"`
		URL    string   `json:"url"`
		Folder string   `json:"folderTitle,omitempty"`
		Tags   []string `json:"tags,omitempty"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: "api/search", Query: url.Values{"query": {in.Query}, "type": {"dash-db"}, "limit": {"50"}}}, &out); err != nil {
		return loop.Result{}, err
	}
	for i := range out {
		out[i].URL = link(a, out[i].URL)
	}
	return integration.Result(map[string]any{"dashboards": out}, "%d dashboards", len(out))
}

func link(a integration.Account, path string) string {
	return strings.TrimRight(a.String(optionURL), "/") + "/" + strings.TrimLeft(path, "/")
}

type dashboardInput struct {
	UID string `json:"uid" rule:"required,min=1,max=60"`
}

type panel struct {
	ID         int    `json:"id"`
	Title      string `json:"title"`
	Type       string `json:"type"`
	Datasource any    `json:"datasource,omitempty"`
	Targets    []struct {
		Expr   string `json:"expr,omitempty"`
		RawSQL string `json:"rawSql,omitempty"`
		Query  any    `json:"query,omitempty"`
	} `json:"targets,omitempty"`
	Panels []panel `json:"panels,omitempty"` // of a row
}

func getDashboard(ctx context.Context, a integration.Account, in dashboardInput) (loop.Result, error) {
	var out struct {
		Meta struct {
			URL     string `json:"url"`
			Updated string `json:"updated"`
		} `json:"meta"`
		Dashboard struct {
			Title  string  `json:"title"`
			Panels []panel `json:"panels"`
		} `json:"dashboard"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: platform.Path("api/dashboards/uid/%s", in.UID)}, &out); err != nil {
		return loop.Result{}, err
	}
	out.Meta.URL = link(a, out.Meta.URL)
	return integration.Result(out, "The dashboard %s", out.Dashboard.Title)
}

type noInput struct{}

func listSources(ctx context.Context, a integration.Account, _ noInput) (loop.Result, error) {
	var out []struct {
		UID  string `json:"uid"`
		Name string `json:"name"`
		Type string `json:"type"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: "api/datasources"}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"datasources": out}, "%d data sources", len(out))
}

type queryInput struct {
	Source  string `json:"datasource_uid" rule:"required,min=1,max=60"`
	Expr    string `json:"expr" rule:"required,min=1,max=4000" about:"In the language of the data source, such as PromQL. SQL is not possible."`
	Minutes int    `json:"minutes" rule:"required,min=1,max=43200" about:"How far back."`
}

// query sends an expression only: SQL could change the data of a source.
func query(ctx context.Context, a integration.Account, in queryInput) (loop.Result, error) {
	const points = 60
	to := a.Now()
	from := to.Add(-time.Duration(in.Minutes) * time.Minute)
	body := map[string]any{
		"from": strconv.FormatInt(from.UnixMilli(), 10), "to": strconv.FormatInt(to.UnixMilli(), 10),
		"queries": []any{map[string]any{"refId": "A", "datasource": map[string]any{"uid": in.Source}, "expr": in.Expr, "queryType": "range", "range": true, "maxDataPoints": points,
			"intervalMs": max(1000, in.Minutes*60_000/points)}},
	}
	var out struct {
		Results map[string]struct {
			Error  string `json:"error,omitempty"`
			Frames []struct {
				Schema json.RawMessage `json:"schema"`
				Data   json.RawMessage `json:"data"`
			} `json:"frames"`
		} `json:"results"`
	}
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Reads: true, Path: "api/ds/query", Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	answer, ok := out.Results["A"]
	if !ok {
		return loop.Result{}, apierr.New(apierr.Unavailable, "Grafana answered without a result.")
	}
	if answer.Error != "" {
		return loop.Result{}, api().Refused(apierr.InvalidRequest, answer.Error)
	}
	return integration.Result(answer, "%d series", len(answer.Frames))
}

func alerts(ctx context.Context, a integration.Account, _ noInput) (loop.Result, error) {
	var out []struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
		StartsAt    string            `json:"startsAt"`
		Status      struct {
			State string `json:"state"`
		} `json:"status"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: "api/alertmanager/grafana/api/v2/alerts"}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"alerts": out}, "%d alerts", len(out))
}

type annotationsInput struct {
	Hours int      `json:"hours" rule:"required,min=1,max=720"`
	Tags  []string `json:"tags" rule:"max=10"`
}

func listAnnotations(ctx context.Context, a integration.Account, in annotationsInput) (loop.Result, error) {
	var out []struct {
		ID        int64    `json:"id"`
		Time      int64    `json:"time"`
		Text      string   `json:"text"`
		Tags      []string `json:"tags"`
		Dashboard string   `json:"dashboardUID,omitempty"`
	}
	now := a.Now()
	values := url.Values{"from": {strconv.FormatInt(now.Add(-time.Duration(in.Hours)*time.Hour).UnixMilli(), 10)}, "to": {strconv.FormatInt(now.UnixMilli(), 10)}, "limit": {"100"}}
	if len(in.Tags) > 0 {
		values["tags"] = in.Tags
	}
	if err := api().Do(ctx, a, platform.Request{Path: "api/annotations", Query: values}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"annotations": out}, "%d annotations", len(out))
}

type annotateInput struct {
	Text      string   `json:"text" rule:"required,min=1,max=2000"`
	Tags      []string `json:"tags" rule:"max=10"`
	Dashboard string   `json:"dashboard_uid" rule:"max=60"`
}

func annotate(ctx context.Context, a integration.Account, in annotateInput) (loop.Result, error) {
	body := map[string]any{"text": integration.Marked(ctx, in.Text), "time": a.Now().UnixMilli()}
	if len(in.Tags) > 0 {
		body["tags"] = in.Tags
	}
	if in.Dashboard != "" {
		body["dashboardUID"] = in.Dashboard
	}
	var out struct {
		ID int64 `json:"id"`
	}
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: "api/annotations", Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "An annotation was added")
}
