package grafana_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/integration/grafana"
	"github.com/magpie-search/magpie/agents/integration/integrationtest"
)

type object = integrationtest.Object

func setup(t *testing.T) integrationtest.Setup {
	t.Helper()
	annotations := []object{}
	stub := &integrationtest.Stub{Authorized: integrationtest.Bearer(map[string]string{"glsa_ada_1": "ada", "glsa_eve_2": "eve"})}
	stub.Handle("GET /api/search query type limit", func(c *integrationtest.Call) integrationtest.Answer {
		all := []object{{"uid": "d1", "title": "Web traffic", "url": "/d/d1/web", "type": "dash-db", "tags": []string{"web"}}}
		if c.Person == "ada" {
			all = append(all, object{"uid": "d2", "title": "Web revenue of Ada", "url": "/d/d2/rev"})
		}
		all = slices.DeleteFunc(all, func(o object) bool { return !strings.Contains(o["title"].(string), c.Query.Get("query")) })
		return integrationtest.Answer{Body: all}
	})
	stub.Handle("GET /api/dashboards/uid/{uid}", func(c *integrationtest.Call) integrationtest.Answer {
		if c.PathValue("uid") != "d1" {
			return integrationtest.Refused(http.StatusNotFound, "Dashboard not found")
		}
		panels := []object{{"id": 1, "title": "Requests", "type": "timeseries", "datasource": object{"uid": "p1"}, "targets": []object{{"expr": "rate(requests[5m])", "refId": "A"}}}}
		return integrationtest.Answer{Body: object{"meta": object{"url": "/d/d1/web"}, "dashboard": object{"title": "Web traffic", "panels": panels}}}
	})
	stub.Handle("GET /api/datasources", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: []object{{"uid": "p1", "name": "Metrics", "type": "prometheus"}}}
	})
	stub.Handle("POST /api/ds/query", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			From, To string
			Queries  []struct {
				RefID, Expr, QueryType    string
				Range                     bool
				MaxDataPoints, IntervalMs int
				Datasource                struct{ UID string }
			}
		}
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case len(in.Queries) != 1 || in.Queries[0].Datasource.UID != "p1":
			return integrationtest.Refused(http.StatusNotFound, "data source not found")
		case strings.Contains(in.Queries[0].Expr, "bad("):
			return integrationtest.Answer{Body: object{"results": object{"A": object{"error": "bad_data: parse error", "status": 400}}}}
		}
		frame := object{"schema": object{"fields": []object{{"name": "Time"}, {"name": "Value"}}}, "data": object{"values": [][]float64{{1, 2}, {42, 43}}}}
		return integrationtest.Answer{Body: object{"results": object{"A": object{"frames": []object{frame}}}}}
	})
	stub.Handle("GET /api/alertmanager/grafana/api/v2/alerts", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: []object{{"labels": object{"alertname": "Down"}, "annotations": object{}, "startsAt": "2026-01-31T12:00:00Z", "status": object{"state": "active"}}}}
	})
	stub.Handle("GET /api/annotations from to limit tags", func(c *integrationtest.Call) integrationtest.Answer {
		found := slices.DeleteFunc(slices.Clone(annotations), func(o object) bool {
			return c.Query.Has("tags") && !slices.Contains(o["tags"].([]string), c.Query.Get("tags"))
		})
		return integrationtest.Answer{Body: append([]object{}, found...)}
	})
	stub.Handle("POST /api/annotations", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Text, DashboardUID string
			Time               int64
			Tags               []string
		}
		if !c.Decode(&in) || in.Time < 1e12 {
			return c.Invalid()
		}
		annotations = append(annotations, object{"id": 9, "text": in.Text, "tags": in.Tags, "time": in.Time})
		return integrationtest.Answer{Body: object{"id": 9, "message": "Annotation added"}}
	})
	return integrationtest.Setup{
		Provider: grafana.Provider(), Server: stub,
		Config:      func(url string) map[string]any { return map[string]any{"url": url} },
		Credentials: map[string]string{"token": "glsa_ada_1"}, Other: map[string]string{"token": "glsa_eve_2"},
		Examples: map[string]integrationtest.Example{
			"search_dashboards": {Arguments: `{"query": "Web"}`, Want: []string{"Web traffic", "/d/d1/web"}, Own: "revenue of Ada"},
			"get_dashboard":     {Arguments: `{"uid": "d1"}`, Want: []string{"rate(requests[5m])"}},
			"list_datasources":  {Arguments: `{}`, Want: []string{"p1"}},
			"query_datasource":  {Arguments: `{"datasource_uid": "p1", "expr": "up", "minutes": 60}`, Want: []string{"43"}},
			"alerts":            {Arguments: `{}`, Want: []string{"Down"}},
			"list_annotations":  {Arguments: `{"hours": 2, "tags": ["deploy"]}`, Want: []string{"annotations"}},
			"create_annotation": {Arguments: `{"text": "Version 2\nis out", "tags": ["deploy"], "dashboard_uid": "d1"}`, Want: []string{"9"}},
		},
	}
}

func TestGrafanaPassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, setup)
}

func TestAnnotationsAreFoundByTheirMark(t *testing.T) {
	t.Parallel()
	f := integrationtest.Start(t, setup)
	f.Call(t, "create_annotation", `{"text": "Version 2", "tags": ["deploy"]}`)
	if text := f.Call(t, "list_annotations", `{"hours": 1, "tags": ["deploy"]}`); !strings.Contains(text, "magpie-run: "+integrationtest.CallKey) {
		t.Errorf("the annotation has no mark: %s", text)
	}
	if text := f.Fails(t, "query_datasource", `{"datasource_uid": "p1", "expr": "bad(", "minutes": 5}`); text != "Grafana refuses the request: bad_data: parse error." {
		t.Errorf("a wrong expression: %s", text)
	}
}
