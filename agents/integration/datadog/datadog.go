package datadog

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
	"github.com/magpie-search/magpie/internal/apierr"
)

const (
	optionURL      = "apiUrl"
	apiKey         = "apiKey"
	applicationKey = "applicationKey"
	title          = "Datadog"
)

// Provider returns the provider.
func Provider() integration.Provider {
	tool := func(name, title, description string, risk policy.Risk) integration.Tool {
		return integration.Tool{Name: name, Title: title, Description: description, Risk: risk}
	}
	muteTool := tool("mute_monitor", "Mute a monitor", "Mutes a monitor for some minutes. Nobody is notified by it in that time.", policy.Write)
	muteTool.Idempotent = true
	return integration.Provider{
		Name: "datadog", Title: title, Summary: "Searches logs, queries metrics, shows and mutes monitors, and posts events.", Group: integration.Observability,
		Config: []connectors.Option{{
			Name: optionURL, Title: "API address", Help: "That of your site, such as https://api.datadoghq.eu.", Type: connectors.TypeString, Format: connectors.FormatURL, Destination: true,
			Default: "https://api.datadoghq.com", Example: "https://api.datadoghq.eu", Check: platform.CheckURL("https://api.datadoghq.eu"),
		}},
		Credentials: []connectors.Option{
			{Name: apiKey, Title: "API key", Help: "From the organization settings.", Type: connectors.TypeString, Required: true, Sensitive: true},
			{Name: applicationKey, Title: "Application key", Help: "Of the person in whose name requests are made.", Type: connectors.TypeString, Required: true, Sensitive: true},
		},
		Check: func(ctx context.Context, a integration.Account) error {
			return api().Do(ctx, a, platform.Request{Path: "api/v1/monitor", Query: url.Values{"page": {"0"}, "page_size": {"1"}}}, nil)
		},
		Tools: []integration.Tool{
			integration.Define(tool("search_logs", "Search logs", "Finds log entries by Datadog's search, such as service:web status:error.", policy.Read), nil, searchLogs),
			integration.Define(tool("query_metrics", "Query metrics", "Evaluates a metrics query over the last minutes, such as avg:system.cpu.user{*} by {host}.", policy.Read), nil, queryMetrics),
			integration.Define(tool("search_monitors", "Search monitors", "Finds monitors by Datadog's search, such as status:alert.", policy.Read), nil, searchMonitors),
			integration.Define(tool("get_monitor", "Read a monitor", "Returns a monitor with its query and state.", policy.Read), nil, getMonitor),
			integration.Define(muteTool, func(in muteInput) loop.Preview {
				id, minutes := strconv.Itoa(in.Monitor), strconv.Itoa(in.Minutes)
				return integration.Show("Mute the monitor "+id+" for "+minutes+" minutes", integration.Field{Name: "Monitor", Value: id}, integration.Field{Name: "Minutes", Value: minutes})
			}, mute),
			integration.Define(tool("post_event", "Post an event", "Adds an event to the event explorer.", policy.Write), func(in eventInput) loop.Preview {
				return integration.Show("Post an event", integration.Field{Name: "Title", Value: in.Title}, integration.Field{Name: "Text", Value: in.Text},
					integration.Field{Name: "Tags", Value: strings.Join(in.Tags, ", ")})
			}, postEvent),
		},
	}
}

func api() platform.API {
	return platform.API{
		Name: title, Base: platform.URL(optionURL, ""), Advice: "config." + optionURL,
		Authorize: func(r *http.Request, a integration.Account, _ string) error {
			for _, name := range []string{apiKey, applicationKey} {
				if a.Credentials[name] == "" {
					return platform.Missing(name)
				}
			}
			r.Header.Set("Dd-Api-Key", a.Credentials[apiKey])
			r.Header.Set("Dd-Application-Key", a.Credentials[applicationKey])
			return nil
		},
	}
}

type logsInput struct {
	Query   string `json:"query" rule:"required,min=1,max=1000"`
	Minutes int    `json:"minutes" rule:"required,min=1,max=43200" about:"How far back."`
	Limit   int    `json:"limit" rule:"min=1,max=50" about:"20 when left out."`
}

func searchLogs(ctx context.Context, a integration.Account, in logsInput) (loop.Result, error) {
	if in.Limit == 0 {
		in.Limit = 20
	}
	now := a.Now().UTC()
	var out struct {
		Data []struct {
			ID         string `json:"id"`
			Attributes struct {
				Timestamp  string         `json:"timestamp"`
				Service    string         `json:"service,omitempty"`
				Host       string         `json:"host,omitempty"`
				Status     string         `json:"status,omitempty"`
				Message    string         `json:"message"`
				Attributes map[string]any `json:"attributes,omitempty"`
			} `json:"attributes"`
		} `json:"data"`
	}
	body := map[string]any{
		"filter": map[string]any{"query": in.Query, "from": now.Add(-time.Duration(in.Minutes) * time.Minute).Format(time.RFC3339), "to": now.Format(time.RFC3339)},
		"sort":   "-timestamp", "page": map[string]any{"limit": in.Limit},
	}
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Reads: true, Path: "api/v2/logs/events/search", Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%d log entries", len(out.Data))
}

type metricsInput struct {
	Query   string `json:"query" rule:"required,min=1,max=2000"`
	Minutes int    `json:"minutes" rule:"required,min=1,max=43200" about:"How far back."`
}

func queryMetrics(ctx context.Context, a integration.Account, in metricsInput) (loop.Result, error) {
	now := a.Now().Unix()
	var out struct {
		Error  string `json:"error,omitempty"`
		Series []struct {
			Metric string       `json:"metric"`
			Scope  string       `json:"scope"`
			Points [][]*float64 `json:"pointlist"`
		} `json:"series"`
	}
	const minute = 60
	query := url.Values{"query": {in.Query}, "from": {strconv.FormatInt(now-int64(in.Minutes)*minute, 10)}, "to": {strconv.FormatInt(now, 10)}}
	if err := api().Do(ctx, a, platform.Request{Path: "api/v1/query", Query: query}, &out); err != nil {
		return loop.Result{}, err
	}
	if out.Error != "" {
		return loop.Result{}, api().Refused(apierr.InvalidRequest, out.Error)
	}
	return integration.Result(out, "%d series", len(out.Series))
}

type monitor struct {
	ID      int64    `json:"id"`
	Name    string   `json:"name"`
	Type    string   `json:"type,omitempty"`
	Status  string   `json:"status,omitempty"`
	State   string   `json:"overall_state,omitempty"`
	Query   string   `json:"query,omitempty"`
	Message string   `json:"message,omitempty"`
	Tags    []string `json:"tags,omitempty"`
}

// RequiredFields implements the check of answers.
func (monitor) RequiredFields() []string { return []string{"id"} }

type monitorsInput struct {
	Query string `json:"query" rule:"max=500"`
}

func searchMonitors(ctx context.Context, a integration.Account, in monitorsInput) (loop.Result, error) {
	var out struct {
		Monitors []monitor `json:"monitors"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: "api/v1/monitor/search", Query: url.Values{"query": {in.Query}, "per_page": {"50"}}}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%d monitors", len(out.Monitors))
}

type monitorInput struct {
	Monitor int `json:"monitor_id" rule:"required,min=1,max=2000000000"`
}

func getMonitor(ctx context.Context, a integration.Account, in monitorInput) (loop.Result, error) {
	var out monitor
	if err := api().Do(ctx, a, platform.Request{Path: platform.Path("api/v1/monitor/%s", strconv.Itoa(in.Monitor))}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "The monitor %s", out.Name)
}

type muteInput struct {
	Monitor int `json:"monitor_id" rule:"required,min=1,max=2000000000"`
	Minutes int `json:"minutes" rule:"required,min=1,max=10080"`
}

func mute(ctx context.Context, a integration.Account, in muteInput) (loop.Result, error) {
	end := a.Now().Add(time.Duration(in.Minutes) * time.Minute)
	r := platform.Request{
		Method: http.MethodPost, Path: platform.Path("api/v1/monitor/%s/mute", strconv.Itoa(in.Monitor)), Query: url.Values{"end": {strconv.FormatInt(end.Unix(), 10)}},
		Body: map[string]any{},
	}
	var out monitor
	if err := api().Do(ctx, a, r, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"id": out.ID, "name": out.Name, "muted_until": end.UTC().Format(time.RFC3339)}, "The monitor %s is muted", out.Name)
}

type eventInput struct {
	Title string   `json:"title" rule:"required,min=1,max=100"`
	Text  string   `json:"text" rule:"required,min=1,max=3000"`
	Tags  []string `json:"tags" rule:"max=20"`
}

func postEvent(ctx context.Context, a integration.Account, in eventInput) (loop.Result, error) {
	body := map[string]any{"title": in.Title, "text": integration.Marked(ctx, in.Text), "source_type_name": "magpie"}
	if len(in.Tags) > 0 {
		body["tags"] = in.Tags
	}
	var out struct {
		Event struct {
			ID  int64  `json:"id"`
			URL string `json:"url"`
		} `json:"event"`
	}
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: "api/v1/events", Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "An event was posted")
}
