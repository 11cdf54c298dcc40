package posthog_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/agents/integration/integrationtest"
	"github.com/magpie-search/magpie/agents/integration/posthog"
)

type object = integrationtest.Object

// setup returns a PostHog whose annotations are in annotations.
func setup(t *testing.T, annotations *[]string) integrationtest.Setup {
	t.Helper()
	stub := &integrationtest.Stub{
		Authorized: integrationtest.Bearer(map[string]string{"phx_ada_key": "ada", "phx_eve_key": "eve"}),
		Failure:    func(_ int, text string) any { return object{"type": "x", "code": "x", "detail": text, "attr": nil} },
	}
	const base = "/api/projects/5/"
	stub.Handle("GET "+base+"insights/{$} limit search saved basic", func(c *integrationtest.Call) integrationtest.Answer {
		all := []object{{"id": 1, "short_id": "abc", "name": "Sign-ups"}}
		if c.Person == "ada" {
			all = append(all, object{"id": 2, "short_id": "def", "name": "Revenue of Ada"})
		}
		return integrationtest.Answer{Body: object{"count": len(all), "results": all}}
	})
	stub.Handle("GET "+base+"insights/{id}/{$}", func(c *integrationtest.Call) integrationtest.Answer {
		if c.PathValue("id") != "1" {
			return integrationtest.Refused(http.StatusNotFound, "Not found.")
		}
		return integrationtest.Answer{Body: object{"id": 1, "short_id": "abc", "name": "Sign-ups", "query": object{"kind": "TrendsQuery"}, "result": []object{{"data": []int{41, 42}}}}}
	})
	stub.Handle("GET "+base+"feature_flags/{$} limit search", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"results": []object{{"id": 3, "key": "new-cart", "name": "New cart", "active": true}}}}
	})
	stub.Handle("POST "+base+"query/{$}", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct{ Query struct{ Kind, Query string } }
		switch {
		case !c.Decode(&in) || in.Query.Kind != "HogQLQuery":
			return c.Invalid()
		case !strings.HasPrefix(in.Query.Query, "SELECT"):
			return integrationtest.Refused(http.StatusBadRequest, "mismatched input")
		}
		return integrationtest.Answer{Body: object{"columns": []string{"event", "n"}, "results": [][]any{{"sign_up", 42}}, "hasMore": false}}
	})
	stub.Handle("POST "+base+"annotations/{$}", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Content, Scope string
			Date           time.Time `json:"date_marker"`
		}
		if !c.Decode(&in) || in.Scope != "project" || in.Date.IsZero() {
			return c.Invalid()
		}
		*annotations = append(*annotations, in.Content)
		return integrationtest.Answer{Status: http.StatusCreated, Body: object{"id": 9}}
	})
	return integrationtest.Setup{
		Provider: posthog.Provider(), Server: stub,
		Config:      func(url string) map[string]any { return map[string]any{"url": url, "projectId": 5.0} },
		Credentials: map[string]string{"personalApiKey": "phx_ada_key"}, Other: map[string]string{"personalApiKey": "phx_eve_key"},
		Examples: map[string]integrationtest.Example{
			"hogql_query":        {Arguments: `{"query": "SELECT event, count() FROM events GROUP BY event"}`, Want: []string{"sign_up", "42"}},
			"list_insights":      {Arguments: `{"search": "a", "limit": 5}`, Want: []string{"Sign-ups"}, Own: "Revenue of Ada"},
			"get_insight":        {Arguments: `{"insight_id": 1}`, Want: []string{"42"}},
			"list_feature_flags": {Arguments: `{"search": "cart", "limit": 5}`, Want: []string{"new-cart"}},
			"create_annotation":  {Arguments: `{"text": "Version 2\nis out"}`, Want: []string{"9"}},
		},
	}
}

func TestPostHogPassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, func(t *testing.T) integrationtest.Setup { t.Helper(); return setup(t, &[]string{}) })
}

func TestAnnotationsHaveTheMark(t *testing.T) {
	t.Parallel()
	annotations := []string{}
	f := integrationtest.Start(t, func(t *testing.T) integrationtest.Setup { t.Helper(); return setup(t, &annotations) })
	f.Call(t, "create_annotation", `{"text": "Version 2"}`)
	if len(annotations) != 1 || annotations[0] != "Version 2\n\nmagpie-run: "+integrationtest.CallKey {
		t.Errorf("the annotations are %q", annotations)
	}
	if text := f.Fails(t, "hogql_query", `{"query": "oops"}`); !strings.Contains(text, "mismatched input") {
		t.Errorf("a wrong query: %s", text)
	}
}
