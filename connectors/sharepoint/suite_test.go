package sharepoint_test

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/sharepoint"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/testkit/sharepointserver"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

// dial connects through the guard, as in production, and allows loopback.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")})
	return guard.DialContext(ctx, network, address)
}

// publishedKind returns the kind, whose requests must be in the published model of
// Microsoft Graph.
func publishedKind(t testing.TB) connectors.Kind {
	t.Helper()
	return sharepoint.Kind(connectortest.PublishedDial(t, dial, "testdata/published.json", `/oauth2/v2\.0/token$|/_api/web/sitegroups/getbyid\(\d+\)/users$|^/b!\d+/01ITEM|^/download/`))
}

const (
	clientID = "66666666-7777-8888-9999-000000000000"
	secret   = "Zq8~the-secret-of-the-app-0123456789abcd"
)

// An organisation is a server with an app and the site "sites/eng".
type organisation struct {
	*sharepointserver.Server
	t           testing.TB
	state       *connectortest.State
	site, drive string
	reader      sharepointserver.User
}

func newOrganisation(t testing.TB, rights ...string) *organisation {
	t.Helper()
	server := sharepointserver.New()
	t.Cleanup(server.Close)
	if len(rights) == 0 {
		rights = []string{"Sites.Read.All", "Sites.FullControl.All", "GroupMember.Read.All", "User.Read.All"}
	}
	app := sharepointserver.App{ClientID: clientID, Secret: secret, Rights: map[string]bool{}}
	for _, right := range rights {
		app.Rights[right] = true
	}
	server.AddApp(app)
	o := &organisation{Server: server, t: t, state: &connectortest.State{}}
	o.site, o.drive = server.AddSite("sites/eng", "Engineering")
	o.reader = server.AddUser(sharepointserver.User{DisplayName: "Reader", Mail: "Reader@Acme.example"})
	server.ShareDrive(o.drive, sharepointserver.ToUser(o.reader))
	return o
}

// settings returns settings with the site. more overrides fields of the config; nil
// removes one.
func (o *organisation) settings(more map[string]any) connectors.Settings {
	config := map[string]any{"sites": []any{o.URL + "/sites/eng"}, "graphUrl": o.URL, "authUrl": o.URL, "domainSuffix": o.Host()}
	maps.Copy(config, more)
	for name, value := range config {
		if value == nil {
			delete(config, name)
		}
	}
	return connectors.Settings{
		ConnectorID: "test", Config: config, State: o.state,
		Credentials: map[string]string{"tenantId": sharepointserver.Tenant, "clientId": clientID, "clientSecret": secret},
	}
}

// Put and Delete implement [connectortest.Fixture].
func (o *organisation) Put(_ testing.TB, path string, content []byte) {
	o.Server.Put(o.drive, path, content)
}

func (o *organisation) Delete(_ testing.TB, path string) { o.Server.Delete(o.drive, path) }

const library = "sites/eng/Documents/"

func itemPath(path string) string {
	if strings.HasPrefix(path, "d:") {
		return path
	}
	return library + path
}

// breakPlatform makes Graph fail until repair is called.
func (o *organisation) breakPlatform(_ testing.TB, how connectortest.Breakage) (repair func()) {
	faults := map[connectortest.Breakage]sharepointserver.Fault{
		connectortest.Unauthorized: {Status: http.StatusUnauthorized, Body: `{"error":{"code":"InvalidAuthenticationToken","message":"Access token is empty."}}`},
		connectortest.RateLimited:  {Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"7"}}, Body: `{"error":{"code":"TooManyRequests","message":"Please retry again later."}}`},
		connectortest.Unavailable:  {Status: http.StatusServiceUnavailable, Body: `{"error":{"code":"serviceNotAvailable","message":"The service is not available."}}`},
		connectortest.Truncated:    {Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"value":[{"id":"01`},
	}
	fault := faults[how]
	o.Fail(func(r *http.Request) *sharepointserver.Fault {
		if strings.HasSuffix(r.URL.Path, "/token") {
			return nil
		}
		return &fault
	})
	return func() { o.Fail(nil) }
}

func TestFilesOfALibraryPassTheSuite(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, func(t *testing.T) connectortest.Setup {
		o := newOrganisation(t)
		o.AddSite("sites/other", "Other")
		kind := publishedKind(t)
		open := kind.New
		kind.New = func(ctx context.Context, s connectors.Settings) (connectors.Source, error) {
			s.Config = maps.Clone(s.Config)
			s.Config["include_permissions"] = true
			return open(ctx, s)
		}
		return connectortest.Setup{
			Kind: kind, Settings: o.settings(map[string]any{"sites": []any{o.URL + "/sites/eng", o.URL + "/sites/other"}}), Fixture: o, FixedTimes: true,
			Move:          func(_ testing.TB, from, to string) { o.Move(o.drive, from, to) },
			ExpireTokens:  func(testing.TB) { o.ExpireDeltas() },
			ChangeReaders: func(_ testing.TB, path string) { o.Share(o.drive, path, sharepointserver.ToLink("users", o.reader)) },
			Lock: func(testing.TB, string) func() {
				o.ChangeSite(o.site, func(site *sharepointserver.Site) { site.Locked = http.StatusLocked })
				return func() { o.ChangeSite(o.site, func(site *sharepointserver.Site) { site.Locked = 0 }) }
			},
			ItemPath: itemPath, FixturePath: func(path string) string { return strings.TrimPrefix(path, library) }, Break: o.breakPlatform,
			UnusualPaths: []string{
				"a b.md", "日本/ガイド.md", "50%.md", "a+b&c=d.md", "#1.md", "a%2Fb.md", "quote's.md", "semi;colon.md", "…/x.md", ".config/README.md", "emoji-🦜.md",
				"d/e,f!g.md", "~tilde/$dollar.md", "@at.md", "(1) [2] {3}.md", strings.Repeat("long/", 60) + "x.md",
			},
		}
	})
}
