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

// dial reaches loopback, and through the guard, as in production.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")})
	return guard.DialContext(ctx, network, address)
}

const token = "github_pat_11AAAAAAA0123456789_abcdefghijklmnopqrstuvwxyz"

// place is a server with the private repository acme/handbook, and a token for it.
type place struct {
	*githubserver.Server
	notes *connectortest.State
}

func newPlace(t testing.TB) place {
	t.Helper()
	server := githubserver.New()
	t.Cleanup(server.Close)
	server.AddToken(token, githubserver.Token{Login: "ada", Repos: []string{"acme/*"}})
	server.AddRepo("acme/handbook", githubserver.RepoOptions{Private: true, Wiki: true, Discussions: true})
	return place{Server: server, notes: &connectortest.State{}}
}

// settings are those of the one repository; more overrides fields of the config.
func (p place) settings(more map[string]any) connectors.Settings {
	config := map[string]any{"repos": []any{"acme/handbook"}, "apiUrl": p.API}
	maps.Copy(config, more)
	return connectors.Settings{ConnectorID: "test", Config: config, Credentials: map[string]string{"token": token}, State: p.notes}
}

// rooted shows a source's paths without the repository's name in front, which
// the suite knows nothing of.
type rooted struct {
	connectors.Source
	root string
}

func (r rooted) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	page, err := r.Source.Walk(ctx, cursor)
	page.Items = r.strip(page.Items)
	return page, err
}

func (r rooted) strip(items []connectors.Item) []connectors.Item {
	for i := range items {
		items[i].Path = strings.TrimPrefix(items[i].Path, r.root)
	}
	return items
}

func (r rooted) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	item.Path = r.root + item.Path
	return r.Source.Open(ctx, item)
}

func (r rooted) Resolve(ctx context.Context, names []string) ([]connectors.Item, []string, error) {
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

// id is what the id of a file looks like.
var id = regexp.MustCompile(`^[0-9]+:f:`)

func (p place) Delete(t testing.TB, path string) {
	t.Helper()
	p.Server.Delete("acme/handbook", "", path)
}

// fixture puts files into a place's repository.
type fixture struct{ place }

func (f fixture) Put(t testing.TB, path string, content []byte) {
	t.Helper()
	f.Server.Put("acme/handbook", "", path, content)
}

func TestFilesOfARepositoryAreASource(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, func(t *testing.T) connectortest.Setup {
		p := newPlace(t)
		kind := github.Kind(dial)
		open := kind.New
		kind.New = func(ctx context.Context, s connectors.Settings) (connectors.Source, error) {
			source, err := open(ctx, s)
			if err != nil {
				return nil, err
			}
			return rooted{Source: source, root: "acme/handbook/"}, nil
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
