package stack_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/salesforceserver"
)

// Two people find the records that they may see in Salesforce, on every surface: one
// owns a case, and the other one only reads accounts. Then Salesforce is asked at each
// search: who loses a record there does not see it any more, before any sync.
func TestSalesforceIsSearchedByTwoPeople(t *testing.T) {
	t.Parallel()
	org := salesforceserver.New()
	t.Cleanup(org.Close)
	const bob = "bob@example.com"
	owner, guest := org.AddUser(email, ""), org.AddUser(bob, "")
	org.AddPermissionSet([]string{org.Reader, owner, guest}, "Account", "Case")
	org.SetDefault("Case", "Private", "Private")
	secret := org.Add("Case", salesforceserver.Row{"Subject": "secret.md", "Description": "The narwhal swims below the ice in winter.", "OwnerId": owner})
	org.Add("Account", salesforceserver.Row{"Name": "shared.md", "Description": "The walrus sleeps above the ice in winter."})

	s := start(t, map[string]string{"ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8,::1/128"})
	other := s.join(bob)
	var made struct {
		CreateCollection struct{ ID string }
		CreateConnector  struct{ ID string }
	}
	s.graphql(&made, `mutation { createCollection(input: {name: "Records"}) { id } }`, nil)
	collection := made.CreateCollection.ID
	s.graphql(&made, `mutation($i: CreateConnectorInput!) { createConnector(input: $i) { id } }`, map[string]any{"i": map[string]any{
		"name": "Salesforce", "type": "salesforce", "collection": collection, "config": map[string]any{"instanceUrl": org.URL, "include_permissions": true},
		"credentials": map[string]any{"clientId": salesforceserver.ClientID, "clientSecret": salesforceserver.ClientSecret},
	}})
	connector := made.CreateConnector.ID
	agent, _ := s.call("POST", "/api/v1/agents", map[string]any{"name": "Guide", "systemPrompt": "You help.", "tools": []string{"search_documents"}, "collections": []any{collection}}).data["id"].(string)
	sync := func() {
		s.graphql(&struct{}{}, `mutation($c: ID!) { startSync(connectorId: $c) { id } }`, map[string]any{"c": connector})
	}
	titles := func(who *service, query string, limit int) string {
		var found struct {
			Search struct{ Results []struct{ Title string } }
		}
		who.graphql(&found, `query($c: ID!, $q: String!, $n: Int) { search(input: {query: $q, collection: $c, minScore: 0, limit: $n}) { results { title } } }`,
			map[string]any{"c": collection, "q": query, "n": limit})
		var all []string
		for _, r := range found.Search.Results {
			all = append(all, r.Title)
		}
		return strings.Join(all, ", ")
	}
	finds := func(who *service, word string) bool { return titles(who, `"`+word+`"`, 10) != "" }
	sync()
	testkit.WaitFor(t, "the first sync", func() bool { return finds(s, "narwhal") && finds(s, "walrus") })
	testkit.WaitFor(t, "the members of the groups", func() bool { return finds(other, "walrus") })
	s.compareSurfaces(other, collection, agent)

	// A share is found by the next sync.
	org.Share(secret, guest, nil)
	if a := s.call("POST", "/api/v1/connectors/"+connector+"/refresh-permissions", nil); a.status/100 != 2 {
		t.Fatalf("refresh-permissions: %d %v", a.status, a.data)
	}
	testkit.WaitFor(t, "the shared case", func() bool { return finds(other, "narwhal") })
	s.graphql(&struct{}{}, `mutation($id: ID!) { updateConnector(id: $id, input: {config: {verifyAccess: true}}) { id } }`, map[string]any{"id": connector})
	testkit.WaitFor(t, "a question to Salesforce", func() bool {
		return finds(other, "narwhal") && finds(other, "walrus") && org.Queries("UserRecordAccess") > 0
	})

	// A new case of the other person that was never shared with the owner is removed from
	// the page by Salesforce alone, and the page stays full.
	org.Add("Case", salesforceserver.Row{"Subject": "hidden.md", "Description": "The narwhal and the walrus meet at the ice.", "OwnerId": guest})
	hidden := org.Find("Case", "Subject", "hidden.md")[0]
	share := org.Share(hidden, owner, nil)
	sync()
	testkit.WaitFor(t, "the new case", func() bool { return strings.Contains(titles(other, "narwhal walrus ice", 10), "hidden.md") })
	org.Remove(share) // no sync follows
	if got := titles(s, "narwhal walrus ice", 2); strings.Contains(got, "hidden.md") || strings.Count(got, ",") != 1 {
		t.Errorf("after the share was withdrawn, the owner's page is %q", got)
	}
	if got := titles(other, "narwhal walrus ice", 10); !strings.Contains(got, "hidden.md") {
		t.Errorf("the page of the other person is %q", got)
	}

	// While Salesforce does not answer, what it has not answered before is hidden.
	var down atomic.Bool
	org.Fail(func(r *http.Request) *salesforceserver.Fault {
		if down.Load() {
			return &salesforceserver.Fault{Status: http.StatusServiceUnavailable}
		}
		return nil
	})
	down.Store(true)
	third := s.join("carol@example.com")
	if got := titles(third, "walrus", 10); got != "" {
		t.Errorf("a person whom Salesforce does not know finds %q", got)
	}
}
