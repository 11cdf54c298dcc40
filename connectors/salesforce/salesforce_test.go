package salesforce_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/salesforce"
	"github.com/magpie-search/magpie/internal/testkit/salesforceserver"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

// An organization has one account, to which the suite's files are attached.
type organization struct {
	*salesforceserver.Server
	account string

	mutex sync.Mutex
	files map[string]string // documents by path
}

func newOrganization(t testing.TB) *organization {
	t.Helper()
	o := &organization{Server: salesforceserver.New(), files: map[string]string{}}
	t.Cleanup(o.Close)
	return o
}

// newOrganizationWithFiles returns an organization with the account of the suite.
func newOrganizationWithFiles(t testing.TB) *organization {
	o := newOrganization(t)
	o.account = o.Add("Account", salesforceserver.Row{"Name": "Files"})
	o.AddPermissionSet([]string{o.Reader}, "Account")
	return o
}

func (o *organization) kind(t testing.TB) connectors.Kind {
	return salesforce.Kind(connectortest.PublishedDial(t, new(net.Dialer).DialContext, "testdata/published.json", "^/services/oauth2/token$"))
}

func (o *organization) settings(config map[string]any) connectors.Settings {
	made := connectors.Settings{
		Config:      map[string]any{"instanceUrl": o.URL},
		Credentials: map[string]string{"clientId": salesforceserver.ClientID, "clientSecret": salesforceserver.ClientSecret},
	}
	maps.Copy(made.Config, config)
	return made
}

func (o *organization) open(t testing.TB, config map[string]any) connectors.Source {
	t.Helper()
	return o.openWith(t, config, &connectortest.State{})
}

func (o *organization) openWith(t testing.TB, config map[string]any, state connectors.State) connectors.Source {
	t.Helper()
	settings := o.settings(config)
	settings.State = state
	return connectortest.Open(t, o.kind(t), settings)
}

func (o *organization) folder() string { return "Account/Files (" + o.account + ")/" }

// Put implements [connectortest.Fixture]: files attached to the account.
func (o *organization) Put(_ testing.TB, path string, content []byte) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if id := o.files[path]; id != "" {
		o.ReplaceFile(id, content)
		return
	}
	o.files[path] = o.AddFile(strings.ReplaceAll(path, "/", "∕"), content, o.account)
}

// Delete implements [connectortest.Fixture].
func (o *organization) Delete(_ testing.TB, path string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.Remove(o.files[path])
	delete(o.files, path)
}

// failing makes the organization fail in a way.
func (o *organization) failing(_ testing.TB, how connectortest.Breakage) func() {
	o.Fail(func(r *http.Request) *salesforceserver.Fault {
		switch how {
		case connectortest.Unauthorized:
			return &salesforceserver.Fault{Status: http.StatusUnauthorized, Body: `[{"message":"Session expired or invalid","errorCode":"INVALID_SESSION_ID"}]`}
		case connectortest.RateLimited:
			return &salesforceserver.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {fmt.Sprint(int(connectortest.RateLimitedFor.Seconds()))}}}
		case connectortest.Unavailable:
			return &salesforceserver.Fault{Status: http.StatusServiceUnavailable, Body: `[{"message":"Server busy","errorCode":"SERVER_UNAVAILABLE"}]`}
		default:
			return &salesforceserver.Fault{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"records":[{"Id":"001`}
		}
	})
	return func() { o.Fail(nil) }
}

func TestFilesPassTheSuite(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, func(t *testing.T) connectortest.Setup {
		o := newOrganizationWithFiles(t)
		settings := o.settings(map[string]any{"includeFiles": true, "objects": []any{"Account", "Case"}, "include_permissions": true})
		settings.State = &connectortest.State{}
		return connectortest.Setup{
			Kind: o.kind(t), Settings: settings, Fixture: o, ExpireTokens: func(testing.TB) { o.Advance(time.Hour); o.PurgeLog() },
			UnusualPaths: []string{"a b.md", "日本/語.md", "a%20b+c&d=e#f?.md", "ÄÖ ü.txt", "x'\"y;.md", "(1).md", "-", "~.md", "a:b.md", "no extension", "two.dots.md"},
			ItemPath: func(path string) string {
				if strings.Count(path, "/") == 2 && strings.HasPrefix(path, "Account/0") {
					return path // an id
				}
				return o.folder() + strings.ReplaceAll(path, "/", "∕")
			},
			FixturePath: func(path string) string { return strings.ReplaceAll(strings.TrimPrefix(path, o.folder()), "∕", "/") },
			Ignore:      func(item connectors.Item) bool { return strings.Count(item.ID, "/") == 1 },
			Break:       o.failing,
			ChangeReaders: func(testing.TB, string) {
				o.Change(o.account, salesforceserver.Row{"OwnerId": o.AddUser("ada@acme.example", "")})
			},
			SetClock: func(at time.Time, _ *time.Location) func(time.Duration) { o.SetClock(at); return o.Advance },
		}
	})
}

func walk(t testing.TB, source connectors.Source) (map[string]connectors.Item, []string) {
	t.Helper()
	found, cursor := map[string]connectors.Item{}, ""
	var warnings []string
	for range 1000 {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			found[item.ID] = item
		}
		warnings = append(warnings, page.Warnings...)
		if page.Done {
			return found, warnings
		}
		cursor = page.Next
	}
	t.Fatal("the walk does not end")
	return nil, nil
}

// only returns the item of the only id with a part.
func only(t testing.TB, items map[string]connectors.Item, part string) connectors.Item {
	t.Helper()
	var found []connectors.Item
	for _, id := range slices.Sorted(maps.Keys(items)) {
		if strings.Contains(id, part) {
			found = append(found, items[id])
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d items have %q in their ids", len(found), part)
	}
	return found[0]
}

func readContent(ctx context.Context, source connectors.Source, item connectors.Item) (string, error) {
	reader, err := source.Open(ctx, item)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(reader)
	return string(content), errors.Join(err, reader.Close())
}
