package datadog_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/agents/integration/datadog"
	"github.com/magpie-search/magpie/agents/integration/integrationtest"
)

type object = integrationtest.Object

// setup returns a Datadog whose events are in events.
func setup(t *testing.T, events *[]string) integrationtest.Setup {
	t.Helper()
	stub := &integrationtest.Stub{
		Authorized: func(r *http.Request) string {
			return map[string]string{"org-key-11/ada-key-1": "ada", "org-key-11/eve-key-2": "eve"}[r.Header.Get("DD-API-KEY")+"/"+r.Header.Get("DD-APPLICATION-KEY")]
		},
		Failure: func(_ int, text string) any { return object{"errors": []string{text}} },
	}
	monitors := map[string]object{"5": {"id": 5, "name": "Web is slow", "type": "metric alert", "overall_state": "Alert", "query": "avg(last_5m):latency > 1"}}
	missing := integrationtest.Refused(http.StatusNotFound, "Monitor not found")
	stub.Handle("GET /api/v1/monitor page page_size", func(*integrationtest.Call) integrationtest.Answer { return integrationtest.Answer{Body: []object{}} })
	stub.Handle("POST /api/v2/logs/events/search", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Filter struct {
				Query    string
				From, To time.Time
			}
			Sort string
			Page struct{ Limit int }
		}
		if !c.Decode(&in) || in.Sort != "-timestamp" || !in.Filter.From.Before(in.Filter.To) {
			return c.Invalid()
		}
		entries := []object{{"id": "l1", "attributes": object{"timestamp": "2026-01-31T12:00:00Z", "service": "web", "status": "error", "message": "out of memory"}}}
		if c.Person == "ada" {
			entries = append(entries, object{"id": "l2", "attributes": object{"message": "audit log of Ada"}})
		}
		return integrationtest.Answer{Body: object{"data": entries}}
	})
	stub.Handle("GET /api/v1/query query from to", func(c *integrationtest.Call) integrationtest.Answer {
		if !strings.HasPrefix(c.Query.Get("query"), "avg:") {
			return integrationtest.Answer{Body: object{"status": "error", "error": "Error parsing query", "series": []object{}}}
		}
		return integrationtest.Answer{Body: object{"status": "ok", "series": []object{{"metric": "system.cpu.user", "scope": "*", "pointlist": [][]any{{1.0, 42.0}, {2.0, nil}}}}}}
	})
	stub.Handle("GET /api/v1/monitor/search query per_page", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"monitors": []object{{"id": 5, "name": "Web is slow", "status": "Alert"}}}}
	})
	stub.Handle("GET /api/v1/monitor/{id}", func(c *integrationtest.Call) integrationtest.Answer {
		if m := monitors[c.PathValue("id")]; m != nil {
			return integrationtest.Answer{Body: m}
		}
		return missing
	})
	stub.Handle("POST /api/v1/monitor/{id}/mute end", func(c *integrationtest.Call) integrationtest.Answer {
		m := monitors[c.PathValue("id")]
		if m == nil || c.Query.Get("end") == "" {
			return missing
		}
		return integrationtest.Answer{Body: m}
	})
	stub.Handle("POST /api/v1/events", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Title, Text string
			Tags        []string
			Source      string `json:"source_type_name"`
		}
		if !c.Decode(&in) || in.Title == "" {
			return c.Invalid()
		}
		*events = append(*events, in.Text)
		return integrationtest.Answer{Status: http.StatusAccepted, Body: object{"status": "ok", "event": object{"id": 8, "url": "https://app.datadoghq.example/event/8"}}}
	})
	return integrationtest.Setup{
		Provider: datadog.Provider(), Server: stub,
		Config:      func(url string) map[string]any { return map[string]any{"apiUrl": url} },
		Credentials: map[string]string{"apiKey": "org-key-11", "applicationKey": "ada-key-1"}, Other: map[string]string{"apiKey": "org-key-11", "applicationKey": "eve-key-2"},
		Examples: map[string]integrationtest.Example{
			"search_logs":     {Arguments: `{"query": "status:error", "minutes": 60, "limit": 10}`, Want: []string{"out of memory"}, Own: "audit log of Ada"},
			"query_metrics":   {Arguments: `{"query": "avg:system.cpu.user{*}", "minutes": 60}`, Want: []string{"42"}},
			"search_monitors": {Arguments: `{"query": "status:alert"}`, Want: []string{"Web is slow"}},
			"get_monitor":     {Arguments: `{"monitor_id": 5}`, Want: []string{"latency"}},
			"mute_monitor":    {Arguments: `{"monitor_id": 5, "minutes": 30}`, Want: []string{"muted_until"}},
			"post_event":      {Arguments: `{"title": "Deployed", "text": "Version 2\nis out", "tags": ["env:prod"]}`, Want: []string{"event/8"}},
		},
	}
}

func TestDatadogPassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, func(t *testing.T) integrationtest.Setup { t.Helper(); return setup(t, &[]string{}) })
}

func TestEventsHaveTheMark(t *testing.T) {
	t.Parallel()
	events := []string{}
	f := integrationtest.Start(t, func(t *testing.T) integrationtest.Setup { t.Helper(); return setup(t, &events) })
	f.Call(t, "post_event", `{"title": "Deployed", "text": "Version 2"}`)
	if len(events) != 1 || events[0] != "Version 2\n\nmagpie-run: "+integrationtest.CallKey {
		t.Errorf("the events are %q", events)
	}
	if text := f.Fails(t, "query_metrics", `{"query": "oops", "minutes": 5}`); text != "Datadog refuses the request: Error parsing query." {
		t.Errorf("a wrong query: %s", text)
	}
}
