package github_test

import (
	"context"
	"io"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/github"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/testkit/githubserver"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

// dial connects through the guard, as in production, and allows loopback.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")})
	return guard.DialContext(ctx, network, address)
}

const token = "github_pat_11AAAAAAA0123456789_abcdefghijklmnopqrstuvwxyz"

// testServer is a server with the private repository acme/handbook, and a token for it.
type testServer struct {
	*githubserver.Server
	notes *connectortest.State
}

func newTestServer(t testing.TB) testServer {
	t.Helper()
	server := githubserver.New()
	t.Cleanup(server.Close)
	server.AddToken(token, githubserver.Token{Login: "ada", Repos: []string{"acme/*"}})
	server.AddRepo("acme/handbook", githubserver.RepoOptions{Private: true, Wiki: true, Discussions: true})
	return testServer{Server: server, notes: &connectortest.State{}}
}

// settings returns settings for the one repository. more overrides config fields.
func (p testServer) settings(more map[string]any) connectors.Settings {
	config := map[string]any{"repos": []any{"acme/handbook"}, "apiUrl": p.API}
	maps.Copy(config, more)
	return connectors.Settings{ConnectorID: "test", Config: config, Credentials: map[string]string{"token": token}, State: p.notes}
}

// A shortPathSource removes the repository's name from paths, since the suite does
// not know it.
type shortPathSource struct {
	connectors.Source
	root string
}

func (r shortPathSource) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	page, err := r.Source.Walk(ctx, cursor)
	page.Items = r.strip(page.Items)
	return page, err
}

func (r shortPathSource) strip(items []connectors.Item) []connectors.Item {
	for i := range items {
		items[i].Path = strings.TrimPrefix(items[i].Path, r.root)
	}
	return items
}

func (r shortPathSource) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	item.Path = r.root + item.Path
	return r.Source.Open(ctx, item)
}

func (r shortPathSource) Resolve(ctx context.Context, names []string) ([]connectors.Item, []string, error) {
	whole := make([]string, len(names))
	for i, name := range names {
		if whole[i] = r.root + name; id.MatchString(name) {
			whole[i] = name
		}
	}
	found, missing, err := r.Source.(connectors.Resolver).Resolve(ctx, whole)
	for i := range missing {
		missing[i] = strings.TrimPrefix(missing[i], r.root)
	}
	return r.strip(found), missing, err
}

// id matches the id of a file.
var id = regexp.MustCompile(`^[0-9]+:f:`)

func (p testServer) Delete(t testing.TB, path string) {
	t.Helper()
	p.Server.Delete("acme/handbook", "", path)
}

// A fixture puts files into the server's repository.
type fixture struct{ testServer }

func (f fixture) Put(t testing.TB, path string, content []byte) {
	t.Helper()
	f.Server.Put("acme/handbook", "", path, content)
}

func TestFilesOfARepositoryPassTheSuite(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, func(t *testing.T) connectortest.Setup {
		p := newTestServer(t)
		kind := github.Kind(dial)
		open := kind.New
		kind.New = func(ctx context.Context, s connectors.Settings) (connectors.Source, error) {
			source, err := open(ctx, s)
			if err != nil {
				return nil, err
			}
			return shortPathSource{Source: source, root: "acme/handbook/"}, nil
		}
		return connectortest.Setup{
			Kind: kind, Settings: p.settings(nil), Fixture: fixture{p},
			UnusualPaths: []string{
				"a b.md", "日本/ガイド.md", "50%.md", "a+b&c=d.md", "who?.md", "#1.md", "a%2Fb.md", "quote\"s.md", "semi;colon.md", "…/x.md",
				".github/README.md", "back\\slash.md", "emoji-🦜.md", "https:/x.md", "issues/1.md", strings.Repeat("long/", 100) + "x.md",
			},
		}
	})
}
