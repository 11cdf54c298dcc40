package ga4

import (
	"context"
	"net/http"
	"strconv"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
)

const (
	optionAPI      = "apiUrl"
	optionProperty = "propertyId"
	token          = "token"
	title          = "Google Analytics 4"
)

// Provider returns the provider.
func Provider() integration.Provider {
	tool := func(name, title, description string) integration.Tool {
		return integration.Tool{Name: name, Title: title, Description: description, Risk: policy.Read}
	}
	return integration.Provider{
		Name: "ga4", Title: title, Summary: "Reports about visits and events of a property.", Group: integration.Analytics,
		Config: []connectors.Option{
			{Name: optionProperty, Title: "Property", Help: "Its id, a number, from the settings of the property.", Type: connectors.TypeInteger, Required: true, Min: 1, Max: 9_999_999_999, Example: "123456789"},
			platform.AddressOption(optionAPI, "https://analyticsdata.googleapis.com"),
		},
		Credentials: []connectors.Option{{Name: token, Title: "Access token", Help: "Connecting an account is better: a token ends after an hour.", Type: connectors.TypeString, Sensitive: true}},
		OAuth:       &integration.OAuth{Provider: "google", Scopes: []string{"https://www.googleapis.com/auth/analytics.readonly"}},
		Check: func(ctx context.Context, a integration.Account) error {
			return api().Do(ctx, a, platform.Request{Path: property(a, "/metadata")}, nil)
		},
		Tools: []integration.Tool{
			integration.Define(tool("run_report", "Run a report", "Returns metrics by dimensions over a range of days, such as activeUsers by country."), nil, runReport),
			integration.Define(tool("run_realtime_report", "Show the last half hour", "Returns metrics by dimensions of the last 30 minutes, such as activeUsers by unifiedScreenName."), nil, runRealtime),
			integration.Define(tool("list_dimensions_and_metrics", "List dimensions and metrics", "Lists the names that reports of the property can use."), nil, metadata),
		},
	}
}

func api() platform.API {
	return platform.API{Name: title, Base: platform.URL(optionAPI, "/v1beta"), Authorize: platform.Bearer(token), Advice: "config." + optionAPI}
}

func property(a integration.Account, rest string) string {
	return platform.Path("properties/%s"+rest, strconv.FormatInt(a.Integer(optionProperty), 10))
}

type named struct {
	Name string `json:"name"`
}

func names(list []string) []named {
	out := make([]named, len(list))
	for i, name := range list {
		out[i] = named{name}
	}
	return out
}

// report is Google's answer to a report. Its numbers are texts.
type report struct {
	Dimensions []named `json:"dimensionHeaders"`
	Metrics    []named `json:"metricHeaders"`
	Rows       []struct {
		Dimensions []value `json:"dimensionValues"`
		Metrics    []value `json:"metricValues"`
	} `json:"rows"`
	Count int `json:"rowCount"`
}

type value struct {
	Value string `json:"value"`
}

// RequiredFields implements the check of answers.
func (report) RequiredFields() []string { return []string{"metricHeaders"} }

func (r report) result() (loop.Result, error) {
	columns, rows := []string{}, [][]string{}
	for _, header := range append(r.Dimensions, r.Metrics...) {
		columns = append(columns, header.Name)
	}
	for _, row := range r.Rows {
		cells := []string{}
		for _, v := range append(row.Dimensions, row.Metrics...) {
			cells = append(cells, v.Value)
		}
		rows = append(rows, cells)
	}
	return integration.Result(map[string]any{"columns": columns, "rows": rows, "row_count": r.Count}, "%d rows", len(rows))
}

type reportInput struct {
	Metrics    []string `json:"metrics" rule:"required,min=1,max=10" about:"Such as activeUsers, sessions, eventCount."`
	Dimensions []string `json:"dimensions" rule:"max=9" about:"Such as date, country, pagePath."`
	Start      string   `json:"start" rule:"required,min=1,max=20" about:"YYYY-MM-DD, today, yesterday, or 7daysAgo."`
	End        string   `json:"end" rule:"required,min=1,max=20" about:"As start."`
	Limit      int      `json:"limit" rule:"min=1,max=250" about:"50 when left out."`
}

func runReport(ctx context.Context, a integration.Account, in reportInput) (loop.Result, error) {
	body := map[string]any{"dateRanges": []any{map[string]any{"startDate": in.Start, "endDate": in.End}}}
	return run(ctx, a, ":runReport", body, in.Metrics, in.Dimensions, in.Limit)
}

type realtimeInput struct {
	Metrics    []string `json:"metrics" rule:"required,min=1,max=10"`
	Dimensions []string `json:"dimensions" rule:"max=4"`
	Limit      int      `json:"limit" rule:"min=1,max=250" about:"50 when left out."`
}

func runRealtime(ctx context.Context, a integration.Account, in realtimeInput) (loop.Result, error) {
	return run(ctx, a, ":runRealtimeReport", map[string]any{}, in.Metrics, in.Dimensions, in.Limit)
}

func run(ctx context.Context, a integration.Account, method string, body map[string]any, metrics, dimensions []string, limit int) (loop.Result, error) {
	if limit == 0 {
		limit = 50
	}
	body["metrics"], body["limit"] = names(metrics), strconv.Itoa(limit)
	if len(dimensions) > 0 {
		body["dimensions"] = names(dimensions)
	}
	var out report
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Reads: true, Path: property(a, method), Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	return out.result()
}

type noInput struct{}

func metadata(ctx context.Context, a integration.Account, _ noInput) (loop.Result, error) {
	type entry struct {
		Name  string `json:"apiName"`
		Title string `json:"uiName"`
	}
	var out struct {
		Dimensions []entry `json:"dimensions"`
		Metrics    []entry `json:"metrics"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: property(a, "/metadata")}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%d dimensions and %d metrics", len(out.Dimensions), len(out.Metrics))
}
