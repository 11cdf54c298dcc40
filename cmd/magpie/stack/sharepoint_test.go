package stack_test

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/sharepointserver"
)

// newPublicAddress returns an address at which platforms reach a service that is
// started later.
func newPublicAddress(t *testing.T) (address string, connect func(service string)) {
	t.Helper()
	var target atomic.Pointer[url.URL]
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target.Load()) }})
	t.Cleanup(proxy.Close)
	return proxy.URL, func(service string) {
		at, err := url.Parse(service)
		if err != nil {
			t.Fatal(err)
		}
		target.Store(at)
	}
}

// Magpie subscribes to a library, whose platform validates the address, and a
// notification makes a change searchable. Two people find what they may open in
// SharePoint, on every surface.
func TestAChangeAtSharePointIsSearchableWithinSeconds(t *testing.T) {
	t.Parallel()
	platform := sharepointserver.New()
	t.Cleanup(platform.Close)
	platform.AddApp(sharepointserver.App{ClientID: "app", Secret: "the-secret", Rights: map[string]bool{"Sites.FullControl.All": true, "GroupMember.Read.All": true}})
	_, drive := platform.AddSite("sites/eng", "Engineering")
	const bob = "bob@example.com"
	owner := platform.AddUser(sharepointserver.User{DisplayName: "Owner", Mail: email})
	guest := platform.AddUser(sharepointserver.User{DisplayName: "Bob", Mail: bob})
	platform.ShareDrive(drive, sharepointserver.ToGroup(platform.AddGroup("all", platform.AddGroup("staff", owner.ID, guest.ID).ID)))
	platform.Put(drive, "shared.md", []byte("# shared.md\n\nThe walrus sleeps above the ice in winter."))
	platform.Put(drive, "private/secret.md", []byte("# secret.md\n\nThe narwhal swims below the ice in winter."))
	platform.Share(drive, "private", sharepointserver.ToUser(owner))
	for n := range 100 {
		platform.Put(drive, fmt.Sprintf("folder %d/%d.md", n%20, n), fmt.Appendf(nil, "# File %d\n\nThe petrel of file %d.", n, n))
	}
	address, connect := newPublicAddress(t)
	s := start(t, map[string]string{"ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8,::1/128", "BASE_URL": address})
	connect(s.url)
	other := s.join(bob)
	var made struct {
		CreateCollection struct{ ID string }
		CreateConnector  struct{ ID string }
	}
	s.graphql(&made, `mutation { createCollection(input: {name: "Docs"}) { id } }`, nil)
	collection := made.CreateCollection.ID
	s.graphql(&made, `mutation($i: CreateConnectorInput!) { createConnector(input: $i) { id } }`, map[string]any{"i": map[string]any{
		"name": "Engineering", "type": "sharepoint", "collection": collection,
		"config":      map[string]any{"siteUrl": platform.URL + "/sites/eng", "graphUrl": platform.URL, "authUrl": platform.URL, "webhook_subscription": true, "include_permissions": true},
		"credentials": map[string]any{"tenantId": sharepointserver.Tenant, "clientId": "app", "clientSecret": "the-secret"},
	}})
	connector := made.CreateConnector.ID
	agent, _ := s.call("POST", "/api/v1/agents", map[string]any{"name": "Guide", "systemPrompt": "You help.", "tools": []string{"search_documents"}, "collections": []any{collection}}).data["id"].(string)
	began := time.Now()
	s.graphql(&struct{}{}, `mutation($c: ID!) { startSync(connectorId: $c) { id } }`, map[string]any{"c": connector})
	var state struct {
		Connector struct{ DocumentCounts struct{ Indexed int } }
	}
	testkit.WaitFor(t, "the first sync", func() bool {
		s.graphql(&state, `query($c: ID!) { connector(id: $c) { documentCounts { indexed } } }`, map[string]any{"c": connector})
		return state.Connector.DocumentCounts.Indexed == 102
	})
	t.Logf("102 files after %s", time.Since(began))
	testkit.WaitFor(t, "a subscription", func() bool { return len(platform.Subscriptions()) == 1 })
	sub := platform.Subscriptions()[0]
	if !strings.HasPrefix(sub.NotificationURL, address+"/webhooks/connectors/sharepoint/") || len(sub.ClientState) < 32 {
		t.Errorf("the subscription is %+v", sub)
	}
	finds := func(who *service, word string) bool {
		var found struct {
			Search struct{ Results []struct{ Title string } }
		}
		who.graphql(&found, `query($c: ID!, $q: String!) { search(input: {query: $q, collection: $c, minScore: 0}) { results { title } } }`, map[string]any{"c": collection, "q": `"` + word + `"`})
		return len(found.Search.Results) > 0
	}
	testkit.WaitFor(t, "the members of the groups", func() bool { return finds(other, "walrus") })
	s.compareSurfaces(other, collection, agent)
	// A folder that is shared is shared with all that is in it.
	platform.Share(drive, "private", sharepointserver.ToUser(owner), sharepointserver.ToUser(guest))
	began = time.Now()
	if err := platform.Deliver(t.Context(), platform.Notifications(drive)); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, "the new reader", func() bool { return finds(other, "narwhal") })
	t.Logf("a new reader finds the file after %s", time.Since(began))
	// Two notifications of different changes are equal, and both count.
	for _, word := range []string{"puffin", "beluga"} {
		platform.Requests()
		platform.Put(drive, "folder 7/7.md", []byte("# File 7\n\nThe "+word+" came."))
		began = time.Now()
		if err := platform.Deliver(t.Context(), platform.Notifications(drive)); err != nil {
			t.Fatal(err)
		}
		testkit.WaitFor(t, "the change in results", func() bool { return finds(s, word) })
		requests := platform.Requests()
		t.Logf("1 changed by webhook: %d requests, searchable after %s", len(requests), time.Since(began))
		if len(requests) > 15 {
			t.Errorf("%d requests: %q", len(requests), requests)
		}
	}
	forged := platform.Notifications(drive)
	for at, body := range forged {
		forged[at] = bytes.ReplaceAll(body, []byte(sub.ClientState), []byte("another"))
	}
	if err := platform.Deliver(t.Context(), forged); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a forged notification: %v", err)
	}
	// The platform ends the subscription, and says so.
	told := platform.Lifecycle("subscriptionRemoved")
	platform.RemoveSubscriptions()
	if err := platform.Deliver(t.Context(), told); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, "another subscription", func() bool { return len(platform.Subscriptions()) == 1 })
}
