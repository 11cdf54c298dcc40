package stack_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/gitlabserver"
)

// deliver sends a delivery of GitLab and returns the status of the response.
func (s *service) deliver(path string, header http.Header, body []byte) int {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header = header
	response, err := s.http.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// A delivery of GitLab makes an issue and a file searchable, and one without the
// secret changes nothing.
func TestAChangeAtGitLabIsSearchableWithinSeconds(t *testing.T) {
	t.Parallel()
	site := gitlabserver.New()
	t.Cleanup(site.Close)
	files, issues := map[string][]byte{}, make([]gitlabserver.Thread, 50)
	for n := range issues {
		files[fmt.Sprintf("docs/%d.md", n)] = fmt.Appendf(nil, "# File %d\n\nThe petrel of file %d.", n, n)
		issues[n] = gitlabserver.Thread{Title: fmt.Sprint("Issue ", n), Text: fmt.Sprintf("The walrus of issue %d sleeps.", n)}
	}
	site.Add(&gitlabserver.Project{ID: 7, Path: "acme/handbook", Files: files, Issues: issues})
	site.Add(&gitlabserver.Project{ID: 8, Path: "umbrella/other", Issues: issues[:1]})
	s := start(t, map[string]string{"ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8,::1/128"})
	var made struct {
		CreateCollection struct{ ID string }
		CreateConnector  struct{ ID string }
	}
	s.graphql(&made, `mutation { createCollection(input: {name: "Docs"}) { id } }`, nil)
	collection := made.CreateCollection.ID
	s.graphql(&made, `mutation($i: CreateConnectorInput!) { createConnector(input: $i) { id } }`, map[string]any{"i": map[string]any{
		"name": "GitLab", "type": "gitlab", "collection": collection, "config": map[string]any{"instanceUrl": site.URL, "groups": []string{"acme"}},
		"credentials": map[string]any{"token": gitlabserver.Token, "webhookSecret": hookSecret},
	}})
	connector := made.CreateConnector.ID
	s.graphql(&struct{}{}, `mutation($c: ID!) { startSync(connectorId: $c) { id } }`, map[string]any{"c": connector})
	finds := func(word string) bool {
		var found struct {
			Search struct{ Results []struct{ Title string } }
		}
		s.graphql(&found, `query($c: ID!, $q: String!) { search(input: {query: $q, collection: $c, minScore: 0}) { results { title } } }`, map[string]any{"c": collection, "q": `"` + word + `"`})
		return len(found.Search.Results) > 0
	}
	testkit.WaitFor(t, "the first sync", func() bool {
		var state struct {
			Connector struct{ DocumentCounts struct{ Indexed int } }
		}
		s.graphql(&state, `query($c: ID!) { connector(id: $c) { documentCounts { indexed } } }`, map[string]any{"c": connector})
		return state.Connector.DocumentCounts.Indexed == 100
	})
	const shared, own = "/webhooks/connectors/gitlab", "/webhooks/connectors/gitlab/"
	change := func(word string) {
		site.Change(7, func(p *gitlabserver.Project) {
			p.Issues[4].Text, p.Issues[4].Updated = "The "+word+" came.", p.Issues[4].Updated.Add(time.Hour)
		})
	}
	for path, word := range map[string]string{shared: "narwhal", own + connector: "beluga"} {
		change(word)
		site.Requests()
		began := time.Now()
		header, body := site.IssueHook(7, 5, hookSecret)
		if status := s.deliver(path, header, body); status != http.StatusOK {
			t.Fatalf("the delivery was answered %d", status)
		}
		testkit.WaitFor(t, "the changed issue", func() bool { return finds(word) })
		t.Logf("1 changed by webhook: %d requests, searchable after %.1f s", len(site.Requests()), time.Since(began).Seconds())
		if status := s.deliver(path, header, body); status != http.StatusOK {
			t.Errorf("the repeated delivery was answered %d", status)
		}
	}
	site.Change(7, func(p *gitlabserver.Project) {
		p.Files["docs/new.md"] = []byte("# New\n\nThe puffin came.")
		delete(p.Files, "docs/3.md")
	})
	header, body := site.PushHook(7, hookSecret, []string{"docs/new.md"}, nil, []string{"docs/3.md"})
	if status := s.deliver(shared, header, body); status != http.StatusOK {
		t.Errorf("the push was answered %d", status)
	}
	testkit.WaitFor(t, "the pushed file", func() bool { return finds("puffin") })
	testkit.WaitFor(t, "the removed file to go", func() bool { return !finds("petrel of file 3.") })

	site.Requests()
	test, testBody := site.PushHook(7, hookSecret, nil, nil, nil)
	elsewhere, elsewhereBody := site.IssueHook(8, 1, hookSecret)
	forged, forgedBody := site.IssueHook(7, 5, "another")
	large := []byte(`{"object_kind":"push","padding":"` + strings.Repeat("x", 26<<20) + `"}`)
	for _, c := range []struct {
		name, path string
		header     http.Header
		body       []byte
		status     int
	}{
		{"a test", own + connector, test, testBody, http.StatusOK}, {"another project", own + connector, elsewhere, elsewhereBody, http.StatusOK},
		{"a forged delivery", own + connector, forged, forgedBody, http.StatusUnauthorized}, {"a forged delivery", shared, forged, forgedBody, http.StatusUnauthorized},
		{"a project of no connector", shared, elsewhere, elsewhereBody, http.StatusUnauthorized}, {"a large delivery", own + connector, test.Clone(), large, http.StatusRequestEntityTooLarge},
		{"no delivery", own + connector, test, []byte("{}"), http.StatusBadRequest},
	} {
		if status := s.deliver(c.path, c.header, c.body); status != c.status {
			t.Errorf("%s was answered %d, want %d", c.name, status, c.status)
		}
	}
}

// Two people find the issues that they may see in GitLab, on every surface: one reports
// in the project, and the other one is a guest, who sees no confidential issue.
func TestGitLabIsSearchedByTwoPeople(t *testing.T) {
	t.Parallel()
	site := gitlabserver.New()
	t.Cleanup(site.Close)
	const bob = "bob@example.com"
	site.ChangeUser(1, func(u *gitlabserver.User) { u.Admin = true })
	site.AddUser(gitlabserver.User{ID: 2, Name: "owner", Email: email})
	site.AddUser(gitlabserver.User{ID: 3, Name: "bob", Email: bob})
	site.AddGroup(gitlabserver.Group{Path: "acme", Members: []gitlabserver.Membership{{User: 2, Level: 20}}})
	site.Add(&gitlabserver.Project{
		ID: 7, Path: "acme/ice", Members: []gitlabserver.Membership{{User: 3, Level: 10}}, Files: map[string][]byte{"code.md": []byte("# code.md\n\nThe puffin is code.")},
		Issues: []gitlabserver.Thread{
			{Title: "secret.md", Text: "The narwhal swims below the ice in winter.", Confidential: true, Author: 2},
			{Title: "shared.md", Text: "The walrus sleeps above the ice in winter.", Author: 2},
		},
	})
	s := start(t, map[string]string{"ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8,::1/128"})
	guest := s.join(bob)
	var made struct {
		CreateCollection struct{ ID string }
		CreateConnector  struct{ ID string }
	}
	s.graphql(&made, `mutation { createCollection(input: {name: "Ice"}) { id } }`, nil)
	collection := made.CreateCollection.ID
	s.graphql(&made, `mutation($i: CreateConnectorInput!) { createConnector(input: $i) { id } }`, map[string]any{"i": map[string]any{
		"name": "GitLab", "type": "gitlab", "collection": collection, "config": map[string]any{"instanceUrl": site.URL, "groups": []string{"acme"}, "include_permissions": true},
		"credentials": map[string]any{"token": gitlabserver.Token, "webhookSecret": hookSecret},
	}})
	connector := made.CreateConnector.ID
	agent, _ := s.call("POST", "/api/v1/agents", map[string]any{"name": "Guide", "systemPrompt": "You help.", "tools": []string{"search_documents"}, "collections": []any{collection}}).data["id"].(string)
	s.graphql(&struct{}{}, `mutation($c: ID!) { startSync(connectorId: $c) { id } }`, map[string]any{"c": connector})
	finds := func(who *service, word string) bool {
		var found struct {
			Search struct{ Results []struct{ Title string } }
		}
		who.graphql(&found, `query($c: ID!, $q: String!) { search(input: {query: $q, collection: $c, minScore: 0}) { results { title } } }`, map[string]any{"c": collection, "q": `"` + word + `"`})
		return len(found.Search.Results) > 0
	}
	testkit.WaitFor(t, "the first sync", func() bool { return finds(s, "narwhal") && finds(s, "walrus") && finds(s, "puffin") })
	testkit.WaitFor(t, "the members", func() bool { return finds(guest, "walrus") })
	s.compareSurfaces(guest, collection, agent)
	if finds(guest, "puffin") {
		t.Error("a guest finds code of a private project")
	}
	site.Change(7, func(p *gitlabserver.Project) {
		p.Issues[0].Confidential, p.Issues[0].Updated = false, p.Issues[1].Updated.Add(time.Hour)
	})
	header, body := site.IssueHook(7, 1, hookSecret)
	if status := s.deliver("/webhooks/connectors/gitlab", header, body); status != http.StatusOK {
		t.Errorf("the delivery was answered %d", status)
	}
	testkit.WaitFor(t, "the issue that is not confidential any more", func() bool { return finds(guest, "narwhal") })
}
