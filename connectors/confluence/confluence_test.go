package confluence_test

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/confluence"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/internal/testkit/confluenceserver"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

// A site has one space and an account that can read it.
type site struct {
	*confluenceserver.Server
	reader confluenceserver.User
	cloud  bool

	mutex sync.Mutex
	page  string // the one that the suite's files are attached to
}

func newSite(t *testing.T, cloud bool) *site {
	t.Helper()
	s := &site{cloud: cloud}
	if cloud {
		s.Server = confluenceserver.NewCloud(t)
	} else {
		s.Server = confluenceserver.NewCenter(t)
	}
	s.reader = s.AddUser(confluenceserver.User{Name: "reader", Display: "Rea Der", Email: "reader@example.com"})
	s.AddSpace(confluenceserver.Space{Key: "TST", Users: []string{s.reader.ID}})
	return s
}

// eachDeployment runs a test for both deployments.
func eachDeployment(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	for name, cloud := range map[string]bool{"Cloud": true, "DataCenter": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newSite(t, cloud))
		})
	}
}

func (s *site) kind() connectors.Kind {
	return confluence.KindAt(new(net.Dialer).DialContext, s.Gateway)
}

func (s *site) settings(config map[string]any) connectors.Settings {
	made := connectors.Settings{Config: map[string]any{"instanceUrl": s.URL}, Credentials: map[string]string{}}
	for name, value := range config {
		made.Config[name] = value
	}
	if s.cloud {
		made.Credentials["email"], made.Credentials["apiToken"] = s.reader.Email, s.reader.Token
	} else {
		made.Credentials["personalAccessToken"] = s.reader.Token
	}
	return made
}

func (s *site) open(t *testing.T, settings connectors.Settings) connectors.Source {
	t.Helper()
	return connectortest.Open(t, s.kind(), settings)
}

const filesPage = "TST/Files/"

// Put implements [connectortest.Fixture]: files attached to a page.
func (s *site) Put(_ testing.TB, path string, content []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.page == "" {
		s.page = s.Add(confluenceserver.Content{Space: "TST", Title: "Files", Body: "<p>Files</p>"})
	}
	name := strings.ReplaceAll(path, "/", "∕")
	if id := s.Find("attachment", s.page, name); id != "" {
		s.Change(id, true, func(c *confluenceserver.Content) { c.Data = content })
		return
	}
	s.Add(confluenceserver.Content{Type: "attachment", Container: s.page, Title: name, Data: content, Media: "application/octet-stream"})
}

// Delete implements [connectortest.Fixture].
func (s *site) Delete(_ testing.TB, path string) {
	s.Remove(s.Find("attachment", s.page, strings.ReplaceAll(path, "/", "∕")))
}

func TestAttachmentsPassTheSuite(t *testing.T) {
	t.Parallel()
	for name, cloud := range map[string]bool{"Cloud": true, "DataCenter": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connectortest.Run(t, func(t *testing.T) connectortest.Setup {
				s := newSite(t, cloud)
				return connectortest.Setup{
					Kind: s.kind(), Settings: s.settings(nil), Fixture: s,
					UnusualPaths: []string{"a b.md", "日本/語.md", "a%20b+c&d=e#f?.md", "ÄÖ ü.txt", "x'\"y;.md", "(1).md", "-", "~.md", "a:b.md"},
					ItemPath:     func(path string) string { return filesPage + strings.ReplaceAll(path, "/", "∕") },
					FixturePath: func(path string) string {
						return strings.ReplaceAll(strings.TrimPrefix(path, filesPage), "∕", "/")
					},
					Ignore: func(item connectors.Item) bool { return strings.HasPrefix(item.ID, "page:") },
				}
			})
		})
	}
}
