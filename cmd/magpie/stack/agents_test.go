package stack_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
)

// answered is what a REST request gave.
type answered struct {
	status int
	body   string
	data   map[string]any
	list   []map[string]any
	next   any
}

func (s *service) call(method, path string, body any) answered {
	s.t.Helper()
	var sent io.Reader
	kind := ""
	if body != nil {
		sent, kind = encode(s.t, body), "application/json"
	}
	response := s.request(method, path, kind, sent)
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	a := answered{status: response.StatusCode, body: string(text)}
	var whole struct {
		Data json.RawMessage `json:"data"`
		Next any             `json:"next_cursor"`
	}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &whole); err != nil {
			s.t.Fatalf("%s %s: %s", method, path, text)
		}
	}
	a.next = whole.Next
	if len(whole.Data) > 0 && whole.Data[0] == '[' {
		err = json.Unmarshal(whole.Data, &a.list)
	} else if len(whole.Data) > 0 {
		err = json.Unmarshal(whole.Data, &a.data)
	}
	if err != nil {
		s.t.Fatalf("%s %s: %s", method, path, text)
	}
	return a
}

type fields = map[string]any

// The life of an agent over REST, each row of the interface's table.
func TestAgentsOverREST(t *testing.T) {
	t.Parallel()
	s := start(t)
	expect := func(what string, a answered, status int, holds fields) answered {
		t.Helper()
		if a.status != status {
			t.Fatalf("%s: %d, not %d: %s", what, a.status, status, a.body)
		}
		for name, want := range holds {
			if got, there := a.data[name]; !there || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %s is %v, not %v", what, name, got, want)
			}
		}
		return a
	}
	collection := expect("a collection", s.call("POST", "/api/v1/collections", fields{"name": "Docs"}), 201, nil).data["id"]
	made := expect("create", s.call("POST", "/api/v1/agents", fields{
		"name": "Guide", "systemPrompt": "You help.", "tools": []string{"search_documents", "calculate"}, "collections": []any{collection}, "startMessage": "Hello!",
	}), 201, fields{"name": "Guide", "description": nil, "tools": []any{"search_documents", "calculate"}, "collections": []any{collection}, "allCollections": false, "model": nil})
	agent := "/api/v1/agents/" + made.data["id"].(string)
	if a := s.call("GET", "/api/v1/agents?limit=1", nil); a.status != 200 || len(a.list) != 1 || a.list[0]["name"] != "Guide" || a.list[0]["createdAt"] != made.data["createdAt"] || a.next != nil {
		t.Errorf("list: %s", a.body)
	}
	expect("get", s.call("GET", agent, nil), 200, made.data)
	expect("put some", s.call("PUT", agent, fields{"name": "Helper"}), 200, fields{"name": "Helper", "systemPrompt": "You help.", "startMessage": "Hello!", "collections": []any{collection}})
	expect("put null", s.call("PUT", agent, fields{"startMessage": nil, "tools": nil}), 200, fields{"startMessage": nil, "tools": []any{}, "name": "Helper"})
	expect("put nothing", s.call("PUT", agent, fields{}), 200, fields{"name": "Helper"})
	for what, c := range map[string]struct {
		body    fields
		status  int
		message string
	}{
		"an unknown tool":       {fields{"tools": []string{"calculate", "fly"}}, 400, "tools[1]: must be one of"},
		"a tool twice":          {fields{"tools": []string{"calculate", "calculate"}}, 400, "tools[1]: is there twice"},
		"no name":               {fields{"name": " "}, 400, "name: must not be blank"},
		"a model there is not":  {fields{"model": "huge"}, 400, "model: "},
		"no collection's id":    {fields{"collections": []string{"x"}}, 400, "collections[0]: must be a UUID"},
		"an unknown collection": {fields{"collections": []any{uuid.New()}}, 404, "Collection not found"},
		"both":                  {fields{"collections": []any{collection}, "allCollections": true}, 400, "collections: must be empty"},
	} {
		if a := s.call("PUT", agent, c.body); a.status != c.status || !strings.Contains(a.body, c.message) {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
	}
	expect("the collection goes", s.call("DELETE", "/api/v1/collections/"+collection.(string), nil), 204, nil)
	expect("and is not opened for it", s.call("GET", agent, nil), 200, fields{"collections": []any{}, "allCollections": false})

	all := s.call("GET", "/api/v1/agent-templates?limit=5", nil)
	if all.status != 200 || len(all.list) != 5 || all.next == nil || all.list[0]["builtIn"] != true {
		t.Fatalf("templates: %s", all.body)
	}
	rest := s.call("GET", "/api/v1/agent-templates?cursor="+all.next.(string), nil)
	if rest.status != 200 || len(rest.list) != 7 || rest.next != nil {
		t.Errorf("the other templates: %d %v", len(rest.list), rest.next)
	}
	template := all.list[0]["id"].(string)
	expect("template", s.call("GET", "/api/v1/agent-templates/"+template, nil), 200, all.list[0])
	expect("from template", s.call("POST", "/api/v1/agents/from-template/"+template, nil), 201, fields{"name": all.list[0]["name"], "allCollections": true})
	expect("from template with a name", s.call("POST", "/api/v1/agents/from-template/"+template, fields{"name": "Ours"}), 201,
		fields{"name": "Ours", "systemPrompt": all.list[0]["systemPrompt"]})
	expect("from nothing", s.call("POST", "/api/v1/agents/from-template/"+uuid.NewString(), nil), 404, nil)

	s.memoriesOverREST(agent)
	expect("delete", s.call("DELETE", agent, nil), 204, nil)
	expect("gone", s.call("GET", agent, nil), 404, nil)
	expect("with its memories", s.call("GET", agent+"/memories", nil), 404, nil)
}

// memoriesOverREST tries each row of memories as the owner and as a viewer.
func (s *service) memoriesOverREST(agent string) {
	t := s.t
	t.Helper()
	memories := agent + "/memories"
	var me struct {
		Me struct{ Workspace struct{ ID uuid.UUID } }
	}
	s.graphql(&me, `{ me { workspace { id } } }`, nil)
	if _, err := s.app.Accounts.AddMember(t.Context(), me.Me.Workspace.ID, "bob@example.com", "Bob", password, membership.RoleViewer); err != nil {
		t.Fatal(err)
	}
	owner := s.token
	s.token = ""
	bob := s.signIn("bob@example.com")
	as := func(token, method, path string, body any) answered {
		t.Helper()
		s.token = token
		return s.call(method, path, body)
	}
	shared := as(owner, "POST", memories, fields{"content": "The archive is in the cellar.", "kind": "procedure", "importance": 1})
	own := as(bob, "POST", memories, fields{"content": "Bob is afraid of the cellar."})
	if shared.status != 201 || shared.data["shared"] != true || shared.data["kind"] != "procedure" || own.status != 201 || own.data["shared"] != false ||
		own.data["kind"] != "fact" || own.data["importance"] != 0.5 {
		t.Fatalf("%s %s", shared.body, own.body)
	}
	theirs, his := memories+"/"+shared.data["id"].(string), memories+"/"+own.data["id"].(string)
	search := memories + "/search?q=what+is+in+the+cellar"
	if a := as(bob, "GET", search, nil); a.status != 200 || len(a.list) != 2 || a.list[0]["score"] == nil || a.list[0]["content"] == nil {
		t.Errorf("bob searches: %s", a.body)
	}
	if a := as(bob, "GET", search+"&limit=1&kind=procedure", nil); a.status != 200 || len(a.list) != 1 || a.list[0]["id"] != shared.data["id"] {
		t.Errorf("bob searches procedures: %s", a.body)
	}
	if a := as(bob, "GET", memories+"?kind=fact", nil); a.status != 200 || len(a.list) != 1 || a.next != nil {
		t.Errorf("bob lists facts: %s", a.body)
	}
	for path, status := range map[string]int{search: 200, memories: 200, his: 404} {
		if a := as(owner, "GET", path, nil); a.status != status || strings.Contains(a.body, "afraid") {
			t.Errorf("the owner reads %s: %d %s", path, a.status, a.body)
		}
	}
	for _, c := range []struct {
		token, method, path string
		body                any
		status              int
	}{
		{owner, "PUT", his, fields{"importance": 0}, 404}, {owner, "DELETE", his, nil, 404},
		{bob, "GET", theirs, nil, 200}, {bob, "PUT", theirs, fields{"importance": 0}, 403}, {bob, "DELETE", theirs, nil, 403},
		{bob, "POST", memories, fields{"content": "x", "shared": true}, 403}, {owner, "POST", memories, fields{"content": ""}, 400},
		{bob, "PUT", his, fields{"kind": "preference", "content": "Bob likes the cellar."}, 200}, {owner, "PUT", theirs, fields{"importance": 0.7}, 200},
		{bob, "GET", memories + "/search", nil, 400}, {bob, "GET", memories + "/search?q=x&limit=101", nil, 400}, {bob, "PUT", agent, fields{"name": "x"}, 403},
		{bob, http.MethodDelete, his, nil, 204}, {bob, "GET", his, nil, 404}, {owner, "DELETE", theirs, nil, 204},
	} {
		if a := as(c.token, c.method, c.path, c.body); a.status != c.status {
			t.Errorf("%s %s %v: %d, not %d: %s", c.method, c.path, c.body, a.status, c.status, a.body)
		}
	}
	s.token = owner
}
