package widget_test

import (
	"net"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

// magpie is a Magpie with a collection of documents.
type magpie struct {
	*stacktest.Magpie
	t          *testing.T
	public     string // for pages, from another site
	collection string
}

// start starts a Magpie with a collection of documents and further settings.
func start(t *testing.T, documents map[string]string, settings ...string) *magpie {
	t.Helper()
	m := &magpie{Magpie: stacktest.Start(t, settings...), t: t}
	_, port, err := net.SplitHostPort(strings.TrimPrefix(m.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	m.public = "http://search.example.com:" + port
	m.index(documents)
	return m
}

// index uploads documents and waits until they are searchable.
func (m *magpie) index(documents map[string]string) {
	m.t.Helper()
	var made struct {
		CreateCollection struct{ ID string }
		CreateConnector  struct{ ID string }
	}
	m.GraphQL(&made, `mutation { createCollection(input: {name: "Handbook"}) { id } }`, nil)
	m.collection = made.CreateCollection.ID
	m.GraphQL(&made, `mutation($c: ID!) { createConnector(input: {name: "Files", type: "file_upload", collection: $c}) { id } }`,
		map[string]any{"c": m.collection})
	if status := m.Upload(made.CreateConnector.ID, documents); status != "COMPLETED" {
		m.t.Fatalf("the sync ended with %s", status)
	}
}

// key creates a pair of keys for a host, with further input of createAPIKey.
func (m *magpie) key(host string, input map[string]any) (publishable, secret string) {
	m.t.Helper()
	all := map[string]any{"name": "Site", "allowedHosts": []string{host}, "allowedCollections": []string{m.collection}, "rateLimitPerMinute": 0}
	for name, value := range input {
		all[name] = value
	}
	var made struct {
		CreateAPIKey struct{ PublishableKey, SecretKey string }
	}
	m.GraphQL(&made, `mutation($input: CreateAPIKeyInput!) { createAPIKey(input: $input) { publishableKey secretKey } }`, map[string]any{"input": all})
	return made.CreateAPIKey.PublishableKey, made.CreateAPIKey.SecretKey
}
