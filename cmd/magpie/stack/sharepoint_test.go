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
// notification makes a change searchable.
func TestAChangeAtSharePointIsSearchableWithinSeconds(t *testing.T) {
	t.Parallel()
	platform := sharepointserver.New()
	t.Cleanup(platform.Close)
	platform.AddApp(sharepointserver.App{ClientID: "app", Secret: "the-secret", Rights: map[string]bool{"Sites.Read.All": true}})
	_, drive := platform.AddSite("sites/eng", "Engineering")
	for n := range 100 {
		platform.Put(drive, fmt.Sprintf("folder %d/%d.md", n%20, n), fmt.Appendf(nil, "# File %d\n\nThe walrus of file %d.", n, n))
	}
	address, connect := newPublicAddress(t)
	s := start(t, map[string]string{"ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8,::1/128", "BASE_URL": address})
	connect(s.url)
	var made struct {
		CreateCollection struct{ ID string }
		CreateConnector  struct{ ID string }
	}
	s.graphql(&made, `mutation { createCollection(input: {name: "Docs"}) { id } }`, nil)
	collection := made.CreateCollection.ID
	s.graphql(&made, `mutation($i: CreateConnectorInput!) { createConnector(input: $i) { id } }`, map[string]any{"i": map[string]any{
		"name": "Engineering", "type": "sharepoint", "collection": collection,
		"config":      map[string]any{"siteUrl": platform.URL + "/sites/eng", "graphUrl": platform.URL, "authUrl": platform.URL, "webhook_subscription": true},
		"credentials": map[string]any{"tenantId": sharepointserver.Tenant, "clientId": "app", "clientSecret": "the-secret"},
	}})
	connector := made.CreateConnector.ID
	began := time.Now()
	s.graphql(&struct{}{}, `mutation($c: ID!) { startSync(connectorId: $c) { id } }`, map[string]any{"c": connector})
	var state struct {
		Connector struct{ DocumentCounts struct{ Indexed int } }
	}
	testkit.WaitFor(t, "the first sync", func() bool {
		s.graphql(&state, `query($c: ID!) { connector(id: $c) { documentCounts { indexed } } }`, map[string]any{"c": connector})
		return state.Connector.DocumentCounts.Indexed == 100
	})
	t.Logf("100 files after %s", time.Since(began))
	testkit.WaitFor(t, "a subscription", func() bool { return len(platform.Subscriptions()) == 1 })
	sub := platform.Subscriptions()[0]
	if !strings.HasPrefix(sub.NotificationURL, address+"/webhooks/connectors/sharepoint/") || len(sub.ClientState) < 32 {
		t.Errorf("the subscription is %+v", sub)
	}
	finds := func(word string) bool {
		var found struct {
			Search struct{ Results []struct{ Title string } }
		}
		s.graphql(&found, `query($c: ID!, $q: String!) { search(input: {query: $q, collection: $c, minScore: 0}) { results { title } } }`, map[string]any{"c": collection, "q": `"` + word + `"`})
		return len(found.Search.Results) > 0
	}
	// Two notifications of different changes are equal, and both count.
	for _, word := range []string{"narwhal", "beluga"} {
		platform.Requests()
		platform.Put(drive, "folder 7/7.md", []byte("# File 7\n\nThe "+word+" came."))
		began = time.Now()
		if err := platform.Deliver(t.Context(), platform.Notifications(drive)); err != nil {
			t.Fatal(err)
		}
		testkit.WaitFor(t, "the change in results", func() bool { return finds(word) })
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
