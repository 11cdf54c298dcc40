package stack_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/driveserver"
)

// Two people find what they may open in Drive, on every surface, and a change of
// Drive reaches them by its notification.
func TestADriveIsSharedByTwoPeople(t *testing.T) {
	t.Parallel()
	drive := driveserver.New()
	t.Cleanup(drive.Close)
	const bob = "bob@example.com"
	drive.Admins = []string{email}
	drive.AddUser(email)
	staff := driveserver.Permission{Type: "group", Email: "staff@example.com"}
	drive.AddGroup(staff.Email, driveserver.Member{Email: bob})
	team := drive.AddDrive("Team", driveserver.Permission{Type: "user", Role: "organizer", Email: email})
	add := func(name, text string, permissions ...driveserver.Permission) string {
		return drive.Add(driveserver.File{Name: name, Parent: team, Content: []byte("# " + name + "\n\n" + text), Permissions: permissions})
	}
	secret := add("secret.md", "The narwhal swims below the ice in winter.")
	add("shared.md", "The walrus sleeps above the ice in winter.", staff)

	const address = "https://magpie.example.com"
	s := start(t, map[string]string{"ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8,::1/128", "BASE_URL": address})
	guest := s.join(bob)
	// Google delivers to the public address; here it leads to the service.
	drive.Notify = func(to string, header http.Header) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+strings.TrimPrefix(to, address), nil)
		if err != nil {
			t.Error(err)
			return
		}
		request.Header = header
		response, err := s.http.Do(request)
		if err != nil {
			return // the service has stopped
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("the notification to %s was answered %d", to, response.StatusCode)
		}
	}
	var made struct {
		CreateCollection struct{ ID string }
		CreateConnector  struct{ ID string }
		CreateAgent      struct{ ID string }
	}
	s.graphql(&made, `mutation { createCollection(input: {name: "Docs"}) { id } }`, nil)
	collection := made.CreateCollection.ID
	s.graphql(&made, `mutation($i: CreateConnectorInput!) { createConnector(input: $i) { id } }`, map[string]any{"i": map[string]any{
		"name": "Drive", "type": "google_drive", "collection": collection,
		"config":      map[string]any{"apiUrl": drive.URL, "include_permissions": true, "webhook_subscription": true},
		"credentials": map[string]any{"serviceAccountJson": drive.ServiceAccount(strings.Fields(driveserver.Scopes)...), "adminEmail": email},
	}})
	connector := made.CreateConnector.ID
	agent := s.call("POST", "/api/v1/agents", map[string]any{"name": "Guide", "systemPrompt": "You help.", "tools": []string{"search_documents"}, "collections": []any{collection}}).data["id"].(string)
	s.graphql(&struct{}{}, `mutation($c: ID!) { startSync(connectorId: $c) { id } }`, map[string]any{"c": connector})

	owner := s
	finds := func(who *service, word string) bool {
		var found struct {
			Search struct{ Results []struct{ Title string } }
		}
		who.graphql(&found, `query($c: ID!, $q: String!) { search(input: {query: $q, collection: $c, minScore: 0}) { results { title } } }`, map[string]any{"c": collection, "q": `"` + word + `"`})
		return len(found.Search.Results) > 0
	}
	testkit.WaitFor(t, "the first sync", func() bool { return finds(owner, "narwhal") && finds(owner, "walrus") })
	testkit.WaitFor(t, "the members of the group", func() bool { return finds(guest, "walrus") })
	testkit.WaitFor(t, "the channels", func() bool { return len(drive.Channels()) == 2 })

	owner.compareSurfaces(guest, collection, agent)

	began := time.Now()
	drive.Change(secret, false, func(f *driveserver.File) { f.Permissions = []driveserver.Permission{{Type: "user", Email: bob}} })
	testkit.WaitFor(t, "the new reader", func() bool { return finds(guest, "narwhal") })
	t.Logf("a new reader finds the file after %.1f s", time.Since(began).Seconds())
	began = time.Now()
	add("news.md", "The petrel came back.", staff)
	testkit.WaitFor(t, "the new file", func() bool { return finds(guest, "petrel") })
	t.Logf("a new file is found after %.1f s", time.Since(began).Seconds())
	drive.Change(secret, false, func(f *driveserver.File) { f.Permissions = nil })
	testkit.WaitFor(t, "the reader to go", func() bool { return !finds(guest, "narwhal") })
	if !finds(owner, "narwhal") {
		t.Error("the owner lost the file")
	}
}
