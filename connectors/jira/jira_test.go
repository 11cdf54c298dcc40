package jira_test

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
	"github.com/magpie-search/magpie/connectors/jira"
	"github.com/magpie-search/magpie/internal/testkit/jiraserver"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

// A site has one project and an account that can browse it.
type site struct {
	*jiraserver.Server
	reader jiraserver.User
	cloud  bool

	mutex sync.Mutex
	issue string // the one that the suite's files are attached to
}

func newSite(t testing.TB, cloud bool) *site {
	t.Helper()
	s := &site{cloud: cloud, Server: jiraserver.NewCenter()}
	if cloud {
		s.Close()
		s.Server = jiraserver.NewCloud()
	}
	t.Cleanup(s.Close)
	s.reader = s.AddUser(jiraserver.User{Name: "reader", Display: "Rea Der", Email: "reader@example.com"})
	s.AddProject(jiraserver.Project{Key: "TST", Lead: s.reader.ID, Browse: []jiraserver.Holder{{Type: "user", Parameter: s.reader.ID}}})
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

// kind returns the kind, whose requests must be in the published model of the deployment.
func (s *site) kind(t testing.TB) connectors.Kind {
	t.Helper()
	file := "testdata/published-center.json"
	if s.cloud {
		file = "testdata/published.json"
	}
	return jira.KindAt(connectortest.PublishedDial(t, new(net.Dialer).DialContext, file, "^/_edge/tenant_info$|^/oauth/token/accessible-resources$|/secure/attachment/|^/file/"), s.Gateway)
}

func (s *site) settings(config map[string]any) connectors.Settings {
	made := connectors.Settings{Config: map[string]any{"instanceUrl": s.URL}, Credentials: map[string]string{}}
	maps.Copy(made.Config, config)
	if s.cloud {
		made.Credentials["email"], made.Credentials["apiToken"] = s.reader.Email, s.reader.Token
	} else {
		made.Credentials["personalAccessToken"] = s.reader.Token
	}
	return made
}

func (s *site) open(t testing.TB, settings connectors.Settings) connectors.Source {
	t.Helper()
	return connectortest.Open(t, s.kind(t), settings)
}

const filesIssue = "TST/TST-1/"

// Put implements [connectortest.Fixture]: files attached to an issue.
func (s *site) Put(_ testing.TB, path string, content []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.issue == "" {
		s.issue = s.Add(jiraserver.Issue{Project: "TST", Summary: "Files"})
	}
	name := strings.ReplaceAll(path, "/", "∕")
	s.Advance(1e9)
	s.Change(s.issue, func(i *jiraserver.Issue) {
		if at := slices.IndexFunc(i.Files, func(f jiraserver.File) bool { return f.Name == name }); at >= 0 {
			i.Files[at].Data, i.Files[at].Created = content, i.Updated
			return
		}
		i.Files = append(slices.Clone(i.Files), jiraserver.File{Name: name, Data: content, Media: "application/octet-stream"})
	})
}

// Delete implements [connectortest.Fixture].
func (s *site) Delete(_ testing.TB, path string) {
	s.Change(s.issue, func(i *jiraserver.Issue) {
		i.Files = slices.DeleteFunc(slices.Clone(i.Files), func(f jiraserver.File) bool { return f.Name == strings.ReplaceAll(path, "/", "∕") })
	})
}

// failing makes the site fail in a way.
func (s *site) failing(_ testing.TB, how connectortest.Breakage) func() {
	s.Fail(func(r *http.Request) *jiraserver.Fault {
		switch how {
		case connectortest.Unauthorized:
			return &jiraserver.Fault{Status: http.StatusUnauthorized, Body: `{"message":"Client must be authenticated to access this resource."}`}
		case connectortest.RateLimited:
			return &jiraserver.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {fmt.Sprint(int(connectortest.RateLimitedFor.Seconds()))}}}
		case connectortest.Unavailable:
			return &jiraserver.Fault{Status: http.StatusServiceUnavailable}
		default:
			return &jiraserver.Fault{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"issues":[{"id":"1000`}
		}
	})
	return func() { s.Fail(nil) }
}

func TestAttachmentsPassTheSuite(t *testing.T) {
	t.Parallel()
	for name, cloud := range map[string]bool{"Cloud": true, "DataCenter": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connectortest.Run(t, func(t *testing.T) connectortest.Setup {
				s := newSite(t, cloud)
				state := &connectortest.State{}
				settings := s.settings(map[string]any{"includeAttachments": true})
				settings.State = state
				return connectortest.Setup{
					Kind: s.kind(t), Settings: settings, Fixture: s, ExpireTokens: func(testing.TB) { state.Clear() },
					UnusualPaths: []string{"a b.md", "日本/語.md", "a%20b+c&d=e#f?.md", "ÄÖ ü.txt", "x'\"y;.md", "(1).md", "-", "~.md", "a:b.md"},
					ItemPath: func(path string) string {
						if strings.HasPrefix(path, "attachment:") {
							return path // an id
						}
						return filesIssue + strings.ReplaceAll(path, "/", "∕")
					},
					FixturePath: func(path string) string {
						return strings.ReplaceAll(strings.TrimPrefix(path, filesIssue), "∕", "/")
					},
					Ignore: func(item connectors.Item) bool { return strings.HasPrefix(item.ID, "issue:") },
					Break:  s.failing, SetClock: func(at time.Time, zone *time.Location) func(time.Duration) { s.SetClock(at, zone); return s.Advance },
				}
			})
		})
	}
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
			found[item.Path] = item
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

func expectPaths(t *testing.T, items map[string]connectors.Item, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(items)); !slices.Equal(got, want) {
		t.Errorf("the paths are %q, want %q", got, want)
	}
}

func readContent(ctx context.Context, source connectors.Source, item connectors.Item) (string, error) {
	reader, err := source.Open(ctx, item)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(reader)
	return string(content), errors.Join(err, reader.Close())
}
