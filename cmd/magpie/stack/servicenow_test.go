package stack_test

import (
	"testing"

	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/servicenowserver"
)

// Two people find the articles that they may see in ServiceNow, on every surface: one
// meets the criterion of an article, and the other one that of the knowledge base only.
func TestServiceNowIsSearchedByTwoPeople(t *testing.T) {
	t.Parallel()
	type row = servicenowserver.Row
	const bob = "bob@example.com"
	instance := servicenowserver.New()
	t.Cleanup(instance.Close)
	owner := instance.Add("sys_user", row{"email": email, "active": "true"})
	guest := instance.Add("sys_user", row{"email": bob, "active": "true"})
	staff := instance.Add("sys_user_group", row{"name": "Staff"})
	for _, user := range []string{owner, guest} {
		instance.Add("sys_user_grmember", row{"user": user, "group": staff})
	}
	base := instance.AddBase("Ice")
	instance.Add("kb_uc_can_read_mtom", row{"kb_knowledge_base": base, "user_criteria": instance.Add("user_criteria", row{"active": "true", "group": staff})})
	only := instance.Add("user_criteria", row{"active": "true", "user": owner})
	secret := instance.AddArticle(base, row{"short_description": "secret.md", "text": "<p>The narwhal swims below the ice in winter.</p>", "can_read_user_criteria": only})
	instance.AddArticle(base, row{"short_description": "shared.md", "text": "<p>The walrus sleeps above the ice in winter.</p>"})

	s := start(t, map[string]string{"ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8,::1/128"})
	other := s.join(bob)
	var made struct {
		CreateCollection struct{ ID string }
		CreateConnector  struct{ ID string }
	}
	s.graphql(&made, `mutation { createCollection(input: {name: "Articles"}) { id } }`, nil)
	collection := made.CreateCollection.ID
	s.graphql(&made, `mutation($i: CreateConnectorInput!) { createConnector(input: $i) { id } }`, map[string]any{"i": map[string]any{
		"name": "ServiceNow", "type": "servicenow", "collection": collection,
		"config":      map[string]any{"instanceUrl": instance.URL, "include_permissions": true, "tables": []any{"kb_knowledge"}},
		"credentials": map[string]any{"username": instance.User, "password": instance.Password},
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
	// An article without a criterion of its own is for everyone who may read the base.
	instance.Change("kb_knowledge", secret, row{"can_read_user_criteria": ""})
	sync()
	testkit.WaitFor(t, "the article without its criterion", func() bool { return finds(other, "narwhal") })
}
