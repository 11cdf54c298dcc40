package hubspot_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/hubspot"
	"github.com/magpie-search/magpie/internal/testkit/hubspotserver"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

// A portal is an account. The suite's fixture keeps tasks in it.
type portal struct {
	*hubspotserver.Server

	mutex sync.Mutex
	tasks map[string]string // ids by fixture path
	paths map[string]string // the reverse
}

func newPortal(t testing.TB) *portal {
	t.Helper()
	p := &portal{Server: hubspotserver.New(), tasks: map[string]string{}, paths: map[string]string{}}
	t.Cleanup(p.Close)
	return p
}

// kind returns the kind, whose requests must be in HubSpot's published model.
func (p *portal) kind(t testing.TB) connectors.Kind {
	t.Helper()
	dial := new(net.Dialer).DialContext
	if p.NoDated {
		return hubspot.Kind(dial) // the model is of the version with a date
	}
	return hubspot.Kind(connectortest.PublishedDial(t, dial, "testdata/published.json", ""))
}

func (p *portal) settings(config map[string]any) connectors.Settings {
	made := connectors.Settings{Config: map[string]any{"apiUrl": p.URL}, Credentials: map[string]string{"accessToken": p.Token}, State: &connectortest.State{}}
	maps.Copy(made.Config, config)
	return made
}

func (p *portal) open(t testing.TB, config map[string]any) connectors.Source {
	t.Helper()
	return connectortest.Open(t, p.kind(t), p.settings(config))
}

// Put implements [connectortest.Fixture]: tasks whose subject is the path.
func (p *portal) Put(_ testing.TB, path string, content []byte) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	text := "=" + base64.StdEncoding.EncodeToString(content)
	if id := p.tasks[path]; id != "" {
		p.Change("tasks", id, func(r *hubspotserver.Record) {
			r.Properties = map[string]string{"hs_task_subject": path, "hs_task_body": text}
		})
		return
	}
	id := p.Add("tasks", hubspotserver.Record{Properties: map[string]string{"hs_task_subject": path, "hs_task_body": text}})
	p.tasks[path], p.paths[id] = id, path
}

// Delete implements [connectortest.Fixture].
func (p *portal) Delete(_ testing.TB, path string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.Archive("tasks", p.tasks[path])
	delete(p.tasks, path)
}

func (p *portal) itemPath(path string) string {
	if regexp.MustCompile(`^tasks:[0-9]+$`).MatchString(path) {
		return path // an id
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for id, known := range p.paths {
		if known == path && p.tasks[path] == id {
			return "Tasks/" + connectors.PathSegment(path) + "-" + id
		}
	}
	return "Tasks/" + path + "-99"
}

func (p *portal) fixturePath(path string) string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.paths[path[strings.LastIndex(path, "-")+1:]]
}

// contentOf returns the content in a document.
func contentOf(document []byte) []byte {
	_, text, _ := bytes.Cut(document, []byte("<div>="))
	text, _, _ = bytes.Cut(text, []byte("</div>"))
	content, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return document
	}
	return content
}

func (p *portal) failing(_ testing.TB, how connectortest.Breakage) func() {
	p.Fail(func(*http.Request) *hubspotserver.Fault {
		switch how {
		case connectortest.Unauthorized:
			return &hubspotserver.Fault{Status: http.StatusUnauthorized, Body: `{"status":"error","message":"The OAuth token used to make this call expired 3 day(s) ago.","category":"EXPIRED_AUTHENTICATION"}`}
		case connectortest.RateLimited:
			return &hubspotserver.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {fmt.Sprint(int(connectortest.RateLimitedFor.Seconds()))}}, Body: `{"status":"error","policyName":"TEN_SECONDLY_ROLLING"}`}
		case connectortest.Unavailable:
			return &hubspotserver.Fault{Status: 530}
		default:
			return &hubspotserver.Fault{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"results":[{"id":"1`}
		}
	})
	return func() { p.Fail(nil) }
}

func TestRecordsPassTheSuite(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, func(t *testing.T) connectortest.Setup {
		p := newPortal(t)
		return connectortest.Setup{
			Kind: p.kind(t), Settings: p.settings(nil), Fixture: p, FixedTimes: true,
			UnusualPaths: []string{"a b.md", "日本/語.md", "a%20b+c&d=e#f?.md", "ÄÖ ü.txt", "x'\"y;.md", "(1).md", "-", "~.md", "a:b.md", "a-1.md"},
			ItemPath:     p.itemPath, FixturePath: p.fixturePath, FixtureContent: contentOf, Break: p.failing,
			Lock: func(_ testing.TB, _ string) func() {
				p.Fail(func(r *http.Request) *hubspotserver.Fault {
					if !strings.Contains(r.URL.Path, "/tasks") {
						return nil
					}
					return &hubspotserver.Fault{Status: http.StatusForbidden, Body: `{"category":"MISSING_SCOPES","message":"no","errors":[{"context":{"requiredGranularScopes":["crm.objects.contacts.read"]}}]}`}
				})
				return func() { p.Fail(nil) }
			},
			SetClock: func(at time.Time, _ *time.Location) func(time.Duration) { p.SetClock(at); return p.Advance },
		}
	})
}

func walk(t testing.TB, source connectors.Source) (map[string]connectors.Item, []connectors.Page) {
	t.Helper()
	found, cursor := map[string]connectors.Item{}, ""
	var pages []connectors.Page
	for range 1000 {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			found[withoutID(item.Path)] = item
		}
		pages = append(pages, page)
		if page.Done {
			return found, pages
		}
		cursor = page.Next
	}
	t.Fatal("the walk does not end")
	return nil, nil
}

// withoutID returns the path of a record without its id.
func withoutID(path string) string {
	return regexp.MustCompile(`-[0-9]+$`).ReplaceAllString(path, "")
}

func expectPaths(t *testing.T, items map[string]connectors.Item, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(items)); !slices.Equal(got, want) {
		t.Errorf("the paths are %q, want %q", got, want)
	}
}
