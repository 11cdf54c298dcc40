package stack_test

import (
	"testing"

	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/jiraserver"
)

// Two people find the issues that they may see in Jira, on every surface: one belongs
// to a security level, and the other one only browses the project.
func TestJiraIsSearchedByTwoPeople(t *testing.T) {
	t.Parallel()
	site := jiraserver.NewCloud()
	t.Cleanup(site.Close)
	const bob = "bob@example.com"
	reader := site.AddUser(jiraserver.User{Name: "reader", Email: "jira-reader@example.com"})
	owner, guest := site.AddUser(jiraserver.User{Name: "owner", Email: email}), site.AddUser(jiraserver.User{Name: "bob", Email: bob})
	staff := site.AddGroup("staff", owner.ID, guest.ID)
	site.AddProject(jiraserver.Project{
		Key: "ICE", Browse: []jiraserver.Holder{{Type: "group", Parameter: staff}}, Levels: map[string][]jiraserver.Holder{"7": {{Type: "user", Parameter: owner.ID}}},
	})
	secret := site.Add(jiraserver.Issue{Project: "ICE", Summary: "secret.md", Description: site.Text("The narwhal swims below the ice in winter."), Level: "7"})
	site.Add(jiraserver.Issue{Project: "ICE", Summary: "shared.md", Description: site.Text("The walrus sleeps above the ice in winter.")})

	s := start(t, map[string]string{"ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8,::1/128"})
	other := s.join(bob)
	var made struct {
		CreateCollection struct{ ID string }
		CreateConnector  struct{ ID string }
	}
	s.graphql(&made, `mutation { createCollection(input: {name: "Issues"}) { id } }`, nil)
	collection := made.CreateCollection.ID
	s.graphql(&made, `mutation($i: CreateConnectorInput!) { createConnector(input: $i) { id } }`, map[string]any{"i": map[string]any{
		"name": "Jira", "type": "jira", "collection": collection, "config": map[string]any{"instanceUrl": site.URL, "include_permissions": true},
		"credentials": map[string]any{"email": reader.Email, "apiToken": reader.Token},
	}})
	connector := made.CreateConnector.ID
	agent, _ := s.call("POST", "/api/v1/agents", map[string]any{"name": "Guide", "systemPrompt": "You help.", "tools": []string{"search_documents"}, "collections": []any{collection}}).data["id"].(string)
	sync := func() {
		s.graphql(&struct{}{}, `mutation($c: ID!) { startSync(connectorId: $c) { id } }`, map[string]any{"c": connector})
	}
	finds := func(who *service, word string) bool {
		var found struct {
			Search struct{ Results []struct{ Title string } }
		}
		who.graphql(&found, `query($c: ID!, $q: String!) { search(input: {query: $q, collection: $c, minScore: 0}) { results { title } } }`, map[string]any{"c": collection, "q": `"` + word + `"`})
		return len(found.Search.Results) > 0
	}
	sync()
	testkit.WaitFor(t, "the first sync", func() bool { return finds(s, "narwhal") && finds(s, "walrus") })
	testkit.WaitFor(t, "the members of the group", func() bool { return finds(other, "walrus") })
	s.compareSurfaces(other, collection, agent)
	// An issue without its level is for everyone who may browse the project.
	site.Change(secret, func(i *jiraserver.Issue) { i.Level = "" })
	sync()
	testkit.WaitFor(t, "the issue without its level", func() bool { return finds(other, "narwhal") })
}
