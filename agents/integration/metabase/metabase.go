package metabase

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
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
	key       = "apiKey"
	title     = "Metabase"
	example   = "https://metabase.example.com"
	maxRows   = 200
)

// Provider returns the provider. It runs saved questions only: a statement of a model
// could change the data of a database.
func Provider() integration.Provider {
	tool := func(name, title, description string) integration.Tool {
		return integration.Tool{Name: name, Title: title, Description: description, Risk: policy.Read}
	}
	return integration.Provider{
		Name: "metabase", Title: title, Summary: "Finds questions and dashboards, and returns the results of questions.", Group: integration.Analytics,
		Config: []connectors.Option{{
			Name: optionURL, Title: "Address", Help: "The address at which people open Metabase.", Type: connectors.TypeString, Required: true, Format: connectors.FormatURL,
			Destination: true, Example: example, Check: platform.CheckURL(example),
		}},
		Credentials: []connectors.Option{{Name: key, Title: "API key", Help: "From the admin settings. Its group decides what it sees.", Type: connectors.TypeString, Required: true, Sensitive: true}},
		Check: func(ctx context.Context, a integration.Account) error {
			return api().Do(ctx, a, platform.Request{Path: "user/current"}, nil)
		},
		Tools: []integration.Tool{
			integration.Define(tool("search", "Search questions and dashboards", "Finds saved questions, models and dashboards by words."), nil, search),
			integration.Define(tool("get_question", "Read a question", "Returns the description and the query of a saved question."), nil, getQuestion),
			integration.Define(tool("run_question", "Run a question", "Returns the rows of a saved question, at most "+strconv.Itoa(maxRows)+"."), nil, run),
			integration.Define(tool("get_dashboard", "Read a dashboard", "Returns the questions on a dashboard."), nil, getDashboard),
		},
	}
}

func api() platform.API {
	return platform.API{
		Name: title, Base: platform.URL(optionURL, "/api"), Advice: "config." + optionURL,
		Authorize: func(r *http.Request, a integration.Account, _ string) error {
			if a.Credentials[key] == "" {
				return platform.Missing(key)
			}
			r.Header.Set("X-Api-Key", a.Credentials[key])
			return nil
		},
	}
}

func link(a integration.Account, kind string, id int64) string {
	return strings.TrimRight(a.String(optionURL), "/") + "/" + kind + "/" + strconv.FormatInt(id, 10)
}

type searchInput struct {
	Query string `json:"query" rule:"required,min=1,max=200"`
}

type found struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Model       string `json:"model"`
	URL         string `json:"url"`
}

func search(ctx context.Context, a integration.Account, in searchInput) (loop.Result, error) {
	var out struct {
		Total int     `json:"total"`
		Data  []found `json:"data"`
	}
	query := url.Values{"q": {in.Query}, "models": {"card", "dataset", "dashboard"}, "limit": {"30"}}
	if err := api().Do(ctx, a, platform.Request{Path: "search", Query: query}, &out); err != nil {
		return loop.Result{}, err
	}
	for i, f := range out.Data {
		kind := "question"
		if f.Model == "dashboard" {
			kind = f.Model
		}
		out.Data[i].URL = link(a, kind, f.ID)
	}
	return integration.Result(out, "%d found", out.Total)
}

type questionInput struct {
	Question int `json:"question_id" rule:"required,min=1,max=2000000000"`
}

func getQuestion(ctx context.Context, a integration.Account, in questionInput) (loop.Result, error) {
	var out struct {
		ID          int64           `json:"id"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Display     string          `json:"display"`
		Query       json.RawMessage `json:"dataset_query,omitempty"`
		URL         string          `json:"url"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: platform.Path("card/%s", strconv.Itoa(in.Question))}, &out); err != nil {
		return loop.Result{}, err
	}
	out.URL = link(a, "question", out.ID)
	return integration.Result(out, "The question %s", out.Name)
}

func run(ctx context.Context, a integration.Account, in questionInput) (loop.Result, error) {
	var out struct {
		Status string `json:"status"`
		Error  any    `json:"error"`
		Count  int    `json:"row_count"`
		Data   struct {
			Rows [][]any `json:"rows"`
			Cols []struct {
				Name string `json:"display_name"`
			} `json:"cols"`
		} `json:"data"`
	}
	body := map[string]any{"constraints": map[string]any{"max-results": maxRows, "max-results-bare-rows": maxRows}}
	r := platform.Request{Method: http.MethodPost, Reads: true, Path: platform.Path("card/%s/query", strconv.Itoa(in.Question)), Body: body}
	if err := api().Do(ctx, a, r, &out); err != nil {
		return loop.Result{}, err
	}
	if out.Status != "completed" {
		message, _ := out.Error.(string)
		return loop.Result{}, api().Refused(apierr.InvalidRequest, "the question failed, "+message)
	}
	columns := make([]string, len(out.Data.Cols))
	for i, c := range out.Data.Cols {
		columns[i] = c.Name
	}
	rows := out.Data.Rows[:min(len(out.Data.Rows), maxRows)]
	return integration.Result(map[string]any{"columns": columns, "rows": rows, "row_count": out.Count, "url": link(a, "question", int64(in.Question))}, "%d rows", len(rows))
}

type dashboardInput struct {
	Dashboard int `json:"dashboard_id" rule:"required,min=1,max=2000000000"`
}

func getDashboard(ctx context.Context, a integration.Account, in dashboardInput) (loop.Result, error) {
	var out struct {
		ID          int64  `json:"id"`
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
		URL         string `json:"url"`
		Cards       []struct {
			Card *struct {
				ID      int64  `json:"id"`
				Name    string `json:"name"`
				Display string `json:"display"`
			} `json:"card"`
		} `json:"dashcards"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: platform.Path("dashboard/%s", strconv.Itoa(in.Dashboard))}, &out); err != nil {
		return loop.Result{}, err
	}
	out.URL = link(a, "dashboard", out.ID)
	return integration.Result(out, "The dashboard %s", out.Name)
}
