package metabase_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/integration/integrationtest"
	"github.com/magpie-search/magpie/agents/integration/metabase"
)

type object = integrationtest.Object

func setup(t *testing.T) integrationtest.Setup {
	t.Helper()
	stub := &integrationtest.Stub{Authorized: integrationtest.Header("X-Api-Key", "", map[string]string{"mb_ada_key": "ada", "mb_eve_key": "eve"})}
	missing := integrationtest.Refused(http.StatusNotFound, "Not found.")
	stub.Handle("GET /api/user/current", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"id": 1}}
	})
	stub.Handle("GET /api/search q models limit", func(c *integrationtest.Call) integrationtest.Answer {
		all := []object{{"id": 7, "name": "Orders by month", "model": "card", "description": nil}, {"id": 3, "name": "Orders", "model": "dashboard"}}
		if c.Person == "ada" {
			all = append(all, object{"id": 8, "name": "Orders of Ada", "model": "card"})
		}
		return integrationtest.Answer{Body: object{"total": len(all), "data": all}}
	})
	stub.Handle("GET /api/card/{id}", func(c *integrationtest.Call) integrationtest.Answer {
		if c.PathValue("id") != "7" {
			return missing
		}
		return integrationtest.Answer{Body: object{"id": 7, "name": "Orders by month", "display": "table", "dataset_query": object{"type": "native", "native": object{"query": "select 1"}}}}
	})
	stub.Handle("POST /api/card/{id}/query", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Constraints map[string]int
		}
		switch {
		case !c.Decode(&in) || in.Constraints["max-results"] == 0:
			return c.Invalid()
		case c.PathValue("id") == "9":
			return integrationtest.Answer{Status: http.StatusAccepted, Body: object{"status": "failed", "error": "column missing", "row_count": 0, "data": object{"rows": []any{}, "cols": []any{}}}}
		case c.PathValue("id") != "7":
			return missing
		}
		rows := [][]any{{"January", 41.0}, {"February", 42.0}}
		return integrationtest.Answer{Status: http.StatusAccepted, Body: object{"status": "completed", "row_count": 2, "data": object{"rows": rows, "cols": []object{{"display_name": "Month"}, {"display_name": "Orders"}}}}}
	})
	stub.Handle("GET /api/dashboard/{id}", func(c *integrationtest.Call) integrationtest.Answer {
		if c.PathValue("id") != "3" {
			return missing
		}
		return integrationtest.Answer{Body: object{"id": 3, "name": "Orders", "dashcards": []object{{"card": object{"id": 7, "name": "Orders by month", "display": "table"}}, {"card": nil}}}}
	})
	return integrationtest.Setup{
		Provider: metabase.Provider(), Server: stub,
		Config:      func(url string) map[string]any { return map[string]any{"url": url} },
		Credentials: map[string]string{"apiKey": "mb_ada_key"}, Other: map[string]string{"apiKey": "mb_eve_key"},
		Examples: map[string]integrationtest.Example{
			"search":        {Arguments: `{"query": "orders"}`, Want: []string{"/question/7", "/dashboard/3"}, Own: "Orders of Ada"},
			"get_question":  {Arguments: `{"question_id": 7}`, Want: []string{"select 1"}},
			"run_question":  {Arguments: `{"question_id": 7}`, Want: []string{"Month", "42"}},
			"get_dashboard": {Arguments: `{"dashboard_id": 3}`, Want: []string{"Orders by month"}},
		},
	}
}

func TestMetabasePassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, setup)
}

func TestAQuestionThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	f := integrationtest.Start(t, setup)
	if text := f.Fails(t, "run_question", `{"question_id": 9}`); !strings.Contains(text, "column missing") {
		t.Errorf("a failed question: %s", text)
	}
}
