package sharepoint_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
)

// sparseServer has a list without a delta, refuses $batch and the permissions of one
// file, and redirects to contents at its own host, where no token is wanted.
func sparseServer(t *testing.T, entries *atomic.Value) *httptest.Server {
	t.Helper()
	const site, list = "/v1.0/sites/acme.sharepoint.com,1,2", "22222222-0000-4000-8000-000000000001"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, status := `{"error":{"code":"itemNotFound","message":"The resource could not be found."}}`, http.StatusNotFound
		ok := func(text string) { answer, status = text, http.StatusOK }
		switch path := r.URL.Path; path {
		case "/t/oauth2/v2.0/token":
			ok(`{"token_type":"Bearer","expires_in":3599,"access_token":"t"}`)
		case "/v1.0/sites/acme.sharepoint.com:/sites/eng":
			ok(`{"id":"acme.sharepoint.com,1,2","webUrl":"https://acme.sharepoint.com/sites/eng"}`)
		case site + "/drives":
			ok(`{"value":[{"id":"b!1","name":"Documents"}]}`)
		case site + "/pages/microsoft.graph.sitePage":
			ok(`{"value":[{"id":"P","name":"Home.aspx","title":"Home","eTag":"1"}]}`)
		case site + "/lists":
			if entries == nil {
				break
			}
			ok(`{"value":[{"id":"` + list + `","displayName":"Tasks","webUrl":"https://acme.sharepoint.com/sites/eng/Lists/Tasks","list":{"hidden":false,"template":"genericList"}}]}`)
		case site + "/lists/" + list + "/items":
			text, _ := entries.Load().(string)
			ok(`{"value":[` + text + `]}`)
		case "/v1.0/drives/b!1/root/delta":
			ok(`{"value":[],"@odata.deltaLink":"https://graph.microsoft.com/v1.0/drives/b!1/root/delta?token=2"}`)
			if r.URL.Query().Get("token") == "" {
				ok(`{"value":[{"id":"F","name":"a.txt","file":{},"size":5,"eTag":"1"},{"id":"G","name":"b.txt","file":{},"size":5,"eTag":"1"}],` +
					`"@odata.deltaLink":"https://graph.microsoft.com/v1.0/drives/b!1/root/delta?token=2"}`)
			}
		case "/v1.0/drives/b!1/items/F":
			ok(`{"id":"F","name":"a.txt","file":{},"size":5,"eTag":"1"}`)
		case "/v1.0/drives/b!1/items/F/permissions":
			ok(`{"value":[{"id":"1","roles":["read"],"grantedToV2":{"user":{"email":"ada@acme.com"}}}]}`)
		case "/v1.0/$batch", "/v1.0/drives/b!1/items/G/permissions":
			answer, status = `{"error":{"code":"accessDenied","message":"Access denied"}}`, http.StatusForbidden
		case "/v1.0/drives/b!1/items/F/content":
			http.Redirect(w, r, "/download/F?tempauth=v1", http.StatusFound)
			return
		case "/download/F":
			w.Header().Set("Content-Type", "text/plain")
			if ok("hello"); r.Header.Get("Authorization") != "" {
				status = http.StatusUnauthorized
			}
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestAServerWithoutPartsOfGraphIsRead(t *testing.T) {
	t.Parallel()
	entry := func(id, title string) string {
		return `{"id":"` + id + `","eTag":"1","contentType":{"name":"Item"},"fields":{"Title":"` + title + `","Note":null}}`
	}
	var entries atomic.Value
	entries.Store(entry("1", "Feed the heron") + "," + entry("2", "Wash the otter"))
	server := sparseServer(t, &entries)
	source := open(t, connectors.Settings{
		Config: map[string]any{
			"siteUrl": "https://acme.sharepoint.com/sites/eng", "graphUrl": server.URL, "authUrl": server.URL, "includeLists": true, "includePages": false, "include_permissions": true,
		},
		Credentials: map[string]string{"tenantId": "t", "clientId": "c", "clientSecret": "s"}, State: &connectortest.State{},
	})
	feeder, _ := source.(connectors.Feeder)
	present, err := feeder.Changes(t.Context(), "")
	if err != nil || present.Next == "" || len(present.Warnings) > 0 {
		t.Fatalf("the present: %+v, %v", present, err)
	}
	l := walk(t, source)
	expectPaths(t, l.paths(), "sites/eng/Documents/a.txt", "sites/eng/Documents/b.txt", "sites/eng/Lists/Tasks/Feed the heron (1).md", "sites/eng/Lists/Tasks/Wash the otter (2).md")
	file, hidden := l.items["sites/eng/Documents/a.txt"], l.items["sites/eng/Documents/b.txt"]
	if text := read(t, source, file); text != "hello" {
		t.Errorf("the content is %q", text)
	}
	lister, _ := source.(connectors.PermissionLister)
	readers, err := lister.Readers(t.Context(), []connectors.Item{file, hidden})
	if _, known := readers[hidden.ID]; err != nil || known || !slices.Equal(readers[file.ID].Principals, []string{"user:ada@acme.com"}) {
		t.Errorf("the readers are %+v, %v", readers, err)
	}
	entries.Store(entry("1", "Feed the stork"))
	changes, err := feeder.Changes(t.Context(), present.Next)
	if err != nil || changes.Expired || changes.More || len(changes.Items) != 1 || changes.Items[0].Title != "Feed the stork" || len(changes.Gone) != 1 || !strings.HasSuffix(changes.Gone[0], "/2") {
		t.Errorf("the changes are %+v, %v", changes, err)
	}
}

func TestNobodyReadsThePagesOfASiteWithoutLists(t *testing.T) {
	t.Parallel()
	server := sparseServer(t, nil)
	source := open(t, connectors.Settings{
		Config:      map[string]any{"siteUrl": "https://acme.sharepoint.com/sites/eng", "graphUrl": server.URL, "authUrl": server.URL, "include_permissions": true},
		Credentials: map[string]string{"tenantId": "t", "clientId": "c", "clientSecret": "s"}, State: &connectortest.State{},
	})
	l := walk(t, source)
	file, page := l.items["sites/eng/Documents/a.txt"], l.items["sites/eng/Site Pages/Home.aspx"]
	lister, _ := source.(connectors.PermissionLister)
	readers, err := lister.Readers(t.Context(), []connectors.Item{file, page})
	if _, known := readers[page.ID]; err != nil || known || !slices.Equal(readers[file.ID].Principals, []string{"user:ada@acme.com"}) {
		t.Errorf("the readers are %+v, %v", readers, err)
	}
}
