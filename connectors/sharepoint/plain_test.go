package sharepoint_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/sharepoint"
)

// plainServer answers only what the published examples of Graph show: no cTag in
// deltas, links to Graph's own host, a page without canvas, and no $batch.
func plainServer(t *testing.T, permissions string) *httptest.Server {
	t.Helper()
	const tag = `"eTag":"\"{1},2\"","size":5,"createdDateTime":"","lastModifiedDateTime":"2026-01-02T03:04:05Z"`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := ""
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/oauth2/v2.0/token"):
			answer = `{"token_type":"Bearer","expires_in":3599,"access_token":"t"}`
		case path == "/v1.0/sites/acme.sharepoint.com:/sites/eng":
			answer = `{"id":"acme.sharepoint.com,1,2","webUrl":"https://acme.sharepoint.com/sites/eng"}`
		case path == "/v1.0/sites/acme.sharepoint.com,1,2/drives":
			answer = `{"value":[{"id":"b!1","name":"Documents"}]}`
		case path == "/v1.0/sites/acme.sharepoint.com,1,2/pages/microsoft.graph.sitePage":
			answer = `{"value":[{"id":"P","name":"Old.aspx","title":"Old page","eTag":"\"{2},1\""}]}`
		case path == "/v1.0/sites/acme.sharepoint.com,1,2/pages/P/microsoft.graph.sitePage":
			answer = `{"id":"P","name":"Old.aspx","title":"Old page"}`
		case path == "/v1.0/drives/b!1/root/delta" && r.URL.Query().Get("token") == "":
			answer = `{"value":[],"@odata.nextLink":"https://graph.microsoft.com/v1.0/drives/b!1/root/delta?token=2"}`
		case path == "/v1.0/drives/b!1/root/delta" && r.URL.Query().Get("token") == "2":
			answer = `{"value":[{"id":"R","name":"root","folder":{},"root":{}},{"id":"H","parentReference":{"id":"R"},"folder":{}},` +
				`{"id":"F","name":"a.txt","file":{},"parentReference":{"id":"R"},` + tag + `}],"@odata.deltaLink":"https://graph.microsoft.com/v1.0/drives/b!1/root/delta?token=3"}`
		case path == "/v1.0/drives/b!1/root/delta":
			answer = `{"value":null,"@odata.deltaLink":"https://graph.microsoft.com/v1.0/drives/b!1/root/delta?token=3"}`
		case path == "/v1.0/drives/b!1/items/F":
			answer = `{"id":"F","name":"a.txt","file":{},"parentReference":{"id":"R"},"cTag":"\"c:{1},1\"",` + tag + `}`
		case path == "/v1.0/drives/b!1/items/F/content":
			w.Header().Set("Content-Type", "text/plain")
			answer = "hello"
		case path == "/v1.0/drives/b!1/items/F/permissions" && permissions != "":
			answer = permissions
		default:
			w.WriteHeader(http.StatusNotFound)
			answer = `{"error":{"code":"itemNotFound","message":"The resource could not be found."}}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestPlainAnswersSuffice(t *testing.T) {
	t.Parallel()
	grant := func(rest string) string {
		return `{"value":[{"id":"1","roles":["read"],"grantedToV2":{"user":{"email":"Ada@acme.com"}}` + rest + `}]}`
	}
	for name, test := range map[string]struct {
		permissions string
		readers     []string
	}{
		"without an end":               {grant(`,"expirationDateTime":"0001-01-01T00:00:00Z"`), []string{"user:ada@acme.com"}},
		"ended":                        {grant(`,"expirationDateTime":"2020-01-01T00:00:00Z"`), nil},
		"an end that is not a time":    {grant(`,"expirationDateTime":"soon"`), nil},
		"empty new and old identities": {`{"value":[{"roles":["write"],"grantedToV2":{},"grantedTo":{"user":{"email":"ada@acme.com"}}}]}`, []string{"user:ada@acme.com"}},
		"nobody":                       {`{"value":null}`, nil},
		"not readable":                 {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := plainServer(t, test.permissions)
			source := open(t, connectors.Settings{
				Config:      map[string]any{"siteUrl": "https://acme.sharepoint.com/sites/eng", "graphUrl": server.URL, "authUrl": server.URL, "include_permissions": true, "includePages": true},
				Credentials: map[string]string{"tenantId": "acme.onmicrosoft.com", "clientId": "c", "clientSecret": "s"}, State: &connectortest.State{},
			})
			feeder, _ := source.(connectors.Feeder)
			present, err := feeder.Changes(t.Context(), "")
			if err != nil || present.Next == "" {
				t.Fatalf("the present: %+v, %v", present, err)
			}
			l := walk(t, source)
			expectPaths(t, l.paths(), "sites/eng/Documents/a.txt", "sites/eng/Site Pages/Old.aspx")
			if text := read(t, source, l.items["sites/eng/Site Pages/Old.aspx"]); !strings.Contains(text, "<h1>Old page</h1>") {
				t.Errorf("the page is %q", text)
			}
			item := l.items["sites/eng/Documents/a.txt"]
			if text := read(t, source, item); text != "hello" {
				t.Errorf("the content is %q", text)
			}
			lister, _ := source.(connectors.PermissionLister)
			readers, err := lister.Readers(t.Context(), []connectors.Item{item})
			if err != nil || readers[item.ID].Everyone || !slices.Equal(readers[item.ID].Principals, test.readers) {
				t.Errorf("the readers are %+v, %v", readers, err)
			}
			if changes, err := feeder.Changes(t.Context(), present.Next); err != nil || changes.Expired || len(changes.Items)+len(changes.Gone) > 0 {
				t.Errorf("the changes are %+v, %v", changes, err)
			}
		})
	}
}

func TestNotificationsFindTheConnectorOfATenantThatIsNamedByDomain(t *testing.T) {
	t.Parallel()
	const id = "6f1c2a40-0000-4000-8000-0123456789ab"
	states := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/token"):
			_, _ = io.WriteString(w, `{"access_token":"t","expires_in":"3599"}`)
		case strings.HasSuffix(r.URL.Path, "/drives"):
			_, _ = io.WriteString(w, `{"value":[{"id":"b!1","name":"Documents"}]}`)
		case r.URL.Path == "/v1.0/subscriptions" && r.Method == http.MethodPost:
			var body struct{ ClientState string }
			_ = json.NewDecoder(r.Body).Decode(&body)
			states <- body.ClientState
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"id":"sub","expirationDateTime":"2099-01-01T00:00:00Z"}`)
		case strings.HasPrefix(r.URL.Path, "/v1.0/sites/"):
			_, _ = io.WriteString(w, `{"id":"acme.sharepoint.com,1,2"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	settings := connectors.Settings{
		ConnectorID: id, Config: map[string]any{"siteUrl": "https://acme.sharepoint.com", "graphUrl": server.URL, "authUrl": server.URL},
		Credentials: map[string]string{"tenantId": "acme.onmicrosoft.com", "clientId": "c", "clientSecret": "s"}, State: &connectortest.State{},
	}
	subscriber, _ := open(t, settings).(connectors.Subscriber)
	if _, err := subscriber.Subscribe(t.Context(), "https://magpie.acme.com/webhooks/connectors/sharepoint", "secret"); err != nil {
		t.Fatal(err)
	}
	body := func(state string) []byte {
		return []byte(`{"value":[{"subscriptionId":"sub","clientState":"` + state + `","changeType":"updated","resource":"drives/b!1/root","tenantId":"11111111-2222-3333-4444-555555555555"}]}`)
	}
	hook, delivery := sharepoint.Kind(dial).Webhook, body(<-states)
	keys, err := hook.Route(nil, delivery)
	if err != nil || !slices.ContainsFunc(hook.Keys(settings), func(key string) bool { return slices.Contains(keys, key) }) {
		t.Errorf("the keys are %q, %v", keys, err)
	}
	if err := hook.Verify("secret", nil, delivery, time.Now()); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{id + ".other", id + ".", "other", "x.secret"} {
		if hook.Verify("secret", nil, body(wrong), time.Now()) == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}

func TestAWalkEndsIfNoLinkIsAccepted(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/token"):
			_, _ = io.WriteString(w, `{"access_token":"t"}`)
		case strings.HasSuffix(r.URL.Path, "/drives"):
			_, _ = io.WriteString(w, `{"value":[{"id":"b!1","name":"Documents"}]}`)
		case strings.HasSuffix(r.URL.Path, "/delta") && r.URL.Query().Get("token") == "":
			_, _ = io.WriteString(w, `{"value":[],"@odata.nextLink":"https://graph.microsoft.com/v1.0/drives/b!1/root/delta?token=2"}`)
		case strings.HasSuffix(r.URL.Path, "/delta"):
			w.WriteHeader(http.StatusGone)
		default:
			_, _ = io.WriteString(w, `{"id":"acme.sharepoint.com,1,2"}`)
		}
	}))
	t.Cleanup(server.Close)
	source := open(t, connectors.Settings{
		Config:      map[string]any{"siteUrl": "https://acme.sharepoint.com", "graphUrl": server.URL, "authUrl": server.URL, "includePages": false},
		Credentials: map[string]string{"tenantId": "t", "clientId": "c", "clientSecret": "s"}, State: &connectortest.State{},
	})
	cursor := ""
	for range 10 {
		page, err := source.Walk(t.Context(), cursor)
		if _, retryable := connectors.RetryAfterOf(err); retryable {
			return
		}
		if err != nil || page.Done {
			t.Fatalf("the walk: %+v, %v", page, err)
		}
		cursor = page.Next
	}
	t.Error("the walk does not end")
}
