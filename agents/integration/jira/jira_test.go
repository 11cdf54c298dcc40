package jira_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/integration/integrationtest"
	"github.com/magpie-search/magpie/agents/integration/jira"
)

type object = integrationtest.Object

// site is a Jira with the projects ENG, which everybody sees, and SEC of Ada.
type site struct {
	issues map[string]object // fields by key
	order  []string
}

func (s *site) add(key, summary, description string) {
	s.issues[key] = object{
		"summary": summary, "description": description, "status": object{"name": "To Do"}, "issuetype": object{"name": "Task"}, "priority": object{"name": "High"},
		"assignee": nil, "reporter": object{"accountId": "a1", "displayName": "Ada"}, "labels": []string{"x"}, "updated": "2026-01-31T12:00:00.000+0000",
		"comment": object{"comments": []object{}},
	}
	s.order = append(s.order, key)
}

func (s *site) issue(c *integrationtest.Call) (object, bool) {
	key := c.PathValue("key")
	fields, ok := s.issues[key]
	return fields, ok && (c.Person == "ada" || !strings.HasPrefix(key, "SEC-"))
}

func missing() integrationtest.Answer {
	return integrationtest.Refused(http.StatusNotFound, "Issue does not exist or you do not have permission to see it.")
}

func setup(t *testing.T) integrationtest.Setup {
	t.Helper()
	s := &site{issues: map[string]object{}}
	s.add("ENG-1", "Fix the build", "It is red.")
	s.add("SEC-1", "Fix the secret leak", "Only Ada reads this.")
	stub := &integrationtest.Stub{
		Authorized: integrationtest.Any(
			integrationtest.Basic(map[string]string{"ada@example.com:ada-token-1": "ada", "eve@example.com:eve-token-2": "eve"}),
			integrationtest.Bearer(map[string]string{"granted-token-3": "ada"})),
		Failure: func(_ int, text string) any { return object{"errorMessages": []string{text}, "errors": object{}} },
	}
	var address string
	stub.Handle("GET /oauth/token/accessible-resources", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: []object{{"id": "other", "url": "https://other.example"}, {"id": "cloud-1", "url": address}}}
	})
	for _, prefix := range []string{"/rest/api/2", "/ex/jira/cloud-1/rest/api/2"} {
		stub.Handle("GET "+prefix+"/myself", func(*integrationtest.Call) integrationtest.Answer {
			return integrationtest.Answer{Body: object{"accountId": "a1"}}
		})
		stub.Handle("GET "+prefix+"/search/jql jql maxResults fields", func(c *integrationtest.Call) integrationtest.Answer {
			word, ok := strings.CutPrefix(c.Query.Get("jql"), "text ~ ")
			if !ok {
				return integrationtest.Refused(http.StatusBadRequest, "Error in the JQL Query")
			}
			found := []object{}
			for _, key := range s.order {
				if strings.Contains(s.issues[key]["summary"].(string), word) && (c.Person == "ada" || !strings.HasPrefix(key, "SEC-")) {
					found = append(found, object{"id": "1", "key": key, "fields": s.issues[key]})
				}
			}
			return integrationtest.Answer{Body: object{"issues": found, "isLast": true}}
		})
		stub.Handle("GET "+prefix+"/issue/{key} fields", func(c *integrationtest.Call) integrationtest.Answer {
			fields, ok := s.issue(c)
			if !ok {
				return missing()
			}
			return integrationtest.Answer{Body: object{"id": "1", "key": c.PathValue("key"), "fields": fields}}
		})
		stub.Handle("GET "+prefix+"/user/search query maxResults", func(*integrationtest.Call) integrationtest.Answer {
			return integrationtest.Answer{Body: []object{{"accountId": "a1", "displayName": "Ada", "active": true}}}
		})
		stub.Handle("POST "+prefix+"/issue", func(c *integrationtest.Call) integrationtest.Answer {
			var in struct {
				Fields struct {
					Project              struct{ Key string }
					Issuetype            struct{ Name string }
					Summary, Description string
					Labels               []string
				}
			}
			if !c.Decode(&in) {
				return c.Invalid()
			}
			if in.Fields.Project.Key != "ENG" || !slices.Contains([]string{"Task", "Bug"}, in.Fields.Issuetype.Name) {
				return integrationtest.Answer{Status: http.StatusBadRequest, Body: object{"errorMessages": []string{}, "errors": object{"project": "valid project is required"}}}
			}
			key := fmt.Sprintf("ENG-%d", len(s.order)+1)
			s.add(key, in.Fields.Summary, in.Fields.Description)
			return integrationtest.Answer{Status: http.StatusCreated, Body: object{"id": "9", "key": key, "self": "x"}}
		})
		stub.Handle("POST "+prefix+"/issue/{key}/comment", func(c *integrationtest.Call) integrationtest.Answer {
			fields, ok := s.issue(c)
			var in struct{ Body string }
			switch {
			case !c.Decode(&in):
				return c.Invalid()
			case !ok:
				return missing()
			}
			all := fields["comment"].(object)
			all["comments"] = append(all["comments"].([]object), object{"body": in.Body, "author": object{"displayName": c.Person}, "created": "2026-01-31"})
			return integrationtest.Answer{Status: http.StatusCreated, Body: object{"id": "77"}}
		})
		stub.Handle("GET "+prefix+"/issue/{key}/transitions", func(c *integrationtest.Call) integrationtest.Answer {
			fields, ok := s.issue(c)
			if !ok {
				return missing()
			}
			all := []object{}
			if fields["status"].(object)["name"] == "To Do" {
				all = append(all, object{"id": "31", "name": "Finish", "to": object{"name": "Done"}})
			}
			return integrationtest.Answer{Body: object{"transitions": all}}
		})
		stub.Handle("POST "+prefix+"/issue/{key}/transitions", func(c *integrationtest.Call) integrationtest.Answer {
			fields, ok := s.issue(c)
			var in struct{ Transition struct{ ID string } }
			switch {
			case !c.Decode(&in):
				return c.Invalid()
			case !ok:
				return missing()
			case in.Transition.ID != "31":
				return integrationtest.Refused(http.StatusBadRequest, "no such transition")
			}
			fields["status"] = object{"name": "Done"}
			return integrationtest.Answer{Status: http.StatusNoContent}
		})
		stub.Handle("PUT "+prefix+"/issue/{key}/assignee", func(c *integrationtest.Call) integrationtest.Answer {
			fields, ok := s.issue(c)
			var in struct {
				ID string `json:"accountId"`
			}
			switch {
			case !c.Decode(&in):
				return c.Invalid()
			case !ok || in.ID != "a1":
				return missing()
			}
			fields["assignee"] = object{"accountId": in.ID, "displayName": "Ada"}
			return integrationtest.Answer{Status: http.StatusNoContent}
		})
	}
	return integrationtest.Setup{
		Provider: jira.Provider(), Server: stub, Token: "granted-token-3",
		Config: func(url string) map[string]any {
			address = url
			return map[string]any{"url": url, "apiUrl": url}
		},
		Credentials: map[string]string{"email": "ada@example.com", "apiToken": "ada-token-1"}, Other: map[string]string{"email": "eve@example.com", "apiToken": "eve-token-2"},
		Examples: map[string]integrationtest.Example{
			"search":       {Arguments: `{"jql": "text ~ Fix", "limit": 5}`, Want: []string{"ENG-1", "/browse/ENG-1"}, Own: "secret leak"},
			"get_issue":    {Arguments: `{"key": "ENG-1"}`, Want: []string{"It is red.", "Ada"}},
			"find_people":  {Arguments: `{"query": "ada"}`, Want: []string{`"a1"`}},
			"create_issue": {Arguments: `{"project": "ENG", "type": "Bug", "summary": "The door", "description": "It does\nnot open", "labels": ["door", "blue"]}`, Want: []string{"ENG-", "/browse/"}},
			"comment":      {Arguments: `{"key": "ENG-1", "text": "Seen"}`, Want: []string{"77"}},
			"transition":   {Arguments: `{"key": "ENG-1", "status": "Done"}`, Want: []string{"Done"}},
			"assign":       {Arguments: `{"key": "ENG-1", "account_id": "a1"}`, Want: []string{"a1"}},
		},
	}
}

func TestJiraPassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, setup)
}

func TestChangesOfIssuesAreFoundByTheirMark(t *testing.T) {
	t.Parallel()
	f := integrationtest.Start(t, setup)
	f.Call(t, "comment", `{"key": "ENG-1", "text": "Seen"}`)
	if text := f.Call(t, "get_issue", `{"key": "ENG-1"}`); !strings.Contains(text, `Seen\n\nmagpie-run: `+integrationtest.CallKey) {
		t.Errorf("the comment has no mark: %s", text)
	}
	f.Call(t, "create_issue", `{"project": "ENG", "type": "Bug", "summary": "The door"}`)
	if text := f.Call(t, "get_issue", `{"key": "ENG-3"}`); !strings.Contains(text, "magpie-run: "+integrationtest.CallKey) {
		t.Errorf("the issue has no mark: %s", text)
	}
	if text := f.Fails(t, "transition", `{"key": "ENG-1", "status": "Closed"}`); !strings.Contains(text, "it can move to Done") {
		t.Errorf("a status that cannot be reached: %s", text)
	}
	if text := f.Fails(t, "create_issue", `{"project": "X", "type": "Bug", "summary": "The door"}`); !strings.Contains(text, "project: valid project is required") {
		t.Errorf("a wrong project: %s", text)
	}
}
