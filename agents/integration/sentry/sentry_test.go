package sentry_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/integration/integrationtest"
	"github.com/magpie-search/magpie/agents/integration/sentry"
)

type object = integrationtest.Object

// setup returns a Sentry with the issues 1 and, of Ada's team, 2. Comments are in
// comments.
func setup(t *testing.T, comments *[]string) integrationtest.Setup {
	t.Helper()
	issue := func(id, title string) object {
		return object{"id": id, "shortId": "WEB-" + id, "title": title, "status": "unresolved", "count": "12", "userCount": 3, "permalink": "https://acme.sentry.example/issues/" + id, "project": object{"slug": "web"}}
	}
	issues := []object{issue("1", "TypeError in checkout"), issue("2", "TypeError in Ada's report")}
	stub := &integrationtest.Stub{
		Authorized: integrationtest.Bearer(map[string]string{"sntrys_ada_1": "ada", "sntrys_eve_2": "eve"}),
		Failure:    func(_ int, text string) any { return object{"detail": text} },
	}
	const org = "/api/0/organizations/acme/"
	find := func(c *integrationtest.Call) object {
		for _, i := range issues {
			if i["id"] == c.PathValue("id") && (c.Person == "ada" || i["id"] != "2") {
				return i
			}
		}
		return nil
	}
	missing := integrationtest.Refused(http.StatusNotFound, "The requested resource does not exist")
	stub.Handle("GET "+org+"{$}", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"slug": "acme"}}
	})
	stub.Handle("GET "+org+"projects/{$}", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: []object{{"id": "5", "slug": "web", "platform": "go"}}}
	})
	stub.Handle("GET "+org+"issues/{$} query statsPeriod limit", func(c *integrationtest.Call) integrationtest.Answer {
		found := []object{}
		for _, i := range issues {
			if strings.Contains(i["title"].(string), c.Query.Get("query")) && (c.Person == "ada" || i["id"] != "2") {
				found = append(found, i)
			}
		}
		return integrationtest.Answer{Body: found}
	})
	stub.Handle("GET "+org+"issues/{id}/{$}", func(c *integrationtest.Call) integrationtest.Answer {
		if i := find(c); i != nil {
			return integrationtest.Answer{Body: i}
		}
		return missing
	})
	stub.Handle("GET "+org+"issues/{id}/events/{event}/{$}", func(c *integrationtest.Call) integrationtest.Answer {
		if find(c) == nil || c.PathValue("event") != "latest" && c.PathValue("event") != "e1" {
			return missing
		}
		frames := []object{{"filename": "cart.go", "function": "Total", "lineNo": 42, "inApp": true}}
		return integrationtest.Answer{Body: object{"eventID": "e1", "title": "TypeError", "dateCreated": "2026-01-31T12:00:00Z", "tags": []object{{"key": "release", "value": "2.0"}}, "entries": []object{
			{"type": "exception", "data": object{"values": []object{{"type": "TypeError", "value": "nil map", "stacktrace": object{"frames": frames}}}}},
			{"type": "breadcrumbs", "data": object{"values": []object{}}},
		}}}
	})
	stub.Handle("PUT "+org+"issues/{id}/{$}", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct{ Status string }
		i := find(c)
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case i == nil:
			return missing
		}
		i["status"] = in.Status
		return integrationtest.Answer{Body: i}
	})
	stub.Handle("POST /api/0/issues/{id}/comments/{$}", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct{ Text string }
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case find(c) == nil:
			return missing
		}
		*comments = append(*comments, in.Text)
		return integrationtest.Answer{Status: http.StatusCreated, Body: object{"id": "77", "data": object{"text": in.Text}}}
	})
	return integrationtest.Setup{
		Provider: sentry.Provider(), Server: stub,
		Config:      func(url string) map[string]any { return map[string]any{"url": url, "organization": "acme"} },
		Credentials: map[string]string{"token": "sntrys_ada_1"}, Other: map[string]string{"token": "sntrys_eve_2"},
		Examples: map[string]integrationtest.Example{
			"list_projects": {Arguments: `{}`, Want: []string{"web"}},
			"search_issues": {Arguments: `{"query": "TypeError", "period": "7d", "limit": 5}`, Want: []string{"TypeError in checkout", "https://acme.sentry.example/issues/1"}, Own: "Ada's report"},
			"get_issue":     {Arguments: `{"issue_id": "1"}`, Want: []string{"WEB-1"}},
			"get_event":     {Arguments: `{"issue_id": "1", "event_id": "e1"}`, Want: []string{"cart.go", "nil map", "release"}},
			"add_comment":   {Arguments: `{"issue_id": "1", "text": "We look\nat it"}`, Want: []string{"77"}},
			"update_issue":  {Arguments: `{"issue_id": "1", "status": "resolved"}`, Want: []string{"resolved"}},
		},
	}
}

func TestSentryPassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, func(t *testing.T) integrationtest.Setup { t.Helper(); return setup(t, &[]string{}) })
}

func TestCommentsHaveTheMark(t *testing.T) {
	t.Parallel()
	comments := []string{}
	f := integrationtest.Start(t, func(t *testing.T) integrationtest.Setup { t.Helper(); return setup(t, &comments) })
	f.Call(t, "add_comment", `{"issue_id": "1", "text": "Seen"}`)
	if len(comments) != 1 || comments[0] != "Seen\n\nmagpie-run: "+integrationtest.CallKey {
		t.Errorf("the comments are %q", comments)
	}
}
