package servicenow_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/servicenow"
	"github.com/magpie-search/magpie/internal/testkit/servicenowserver"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

// An instance has articles. The suite's fixture keeps one for each path.
type instance struct {
	*servicenowserver.Server
	base string

	mutex sync.Mutex
	ids   map[string]string // by path
	paths map[string]string // by number
}

func newInstance(t testing.TB) *instance {
	t.Helper()
	i := &instance{Server: servicenowserver.New(), ids: map[string]string{}, paths: map[string]string{}}
	t.Cleanup(i.Close)
	i.base = i.AddBase("IT")
	return i
}

func (i *instance) kind(t testing.TB) connectors.Kind {
	t.Helper()
	return servicenow.Kind(connectortest.PublishedDial(t, new(net.Dialer).DialContext, "testdata/published.json", ""))
}

func (i *instance) settings(config map[string]any) connectors.Settings {
	made := connectors.Settings{
		Config: map[string]any{"instanceUrl": i.URL}, Credentials: map[string]string{"username": i.User, "password": i.Password}, State: &connectortest.State{},
	}
	maps.Copy(made.Config, config)
	return made
}

func (i *instance) open(t testing.TB, config map[string]any) connectors.Source {
	t.Helper()
	return connectortest.Open(t, i.kind(t), i.settings(config))
}

// Put implements [connectortest.Fixture].
func (i *instance) Put(_ testing.TB, path string, content []byte) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	row := servicenowserver.Row{"text": "=" + base64.StdEncoding.EncodeToString(content), "short_description": path}
	if id := i.ids[path]; id != "" {
		i.Change("kb_knowledge", id, row)
		return
	}
	row["number"] = fmt.Sprintf("KB%07d", len(i.paths)+1)
	i.ids[path], i.paths[row["number"]] = i.AddArticle(i.base, row), path
}

// Delete implements [connectortest.Fixture]. Every other article is retired.
func (i *instance) Delete(_ testing.TB, path string) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if len(path)%2 == 0 {
		i.Change("kb_knowledge", i.ids[path], servicenowserver.Row{"workflow_state": "retired"})
	} else {
		i.Remove("kb_knowledge", i.ids[path], true)
	}
	delete(i.ids, path)
}

func (i *instance) itemPath(path string) string {
	if strings.HasPrefix(path, "kb_knowledge:") {
		return path // an id
	}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for number, known := range i.paths {
		if known == path && i.ids[path] != "" {
			return "kb_knowledge/" + number
		}
	}
	return "kb_knowledge/no " + path
}

func (i *instance) fixturePath(path string) string {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.paths[strings.TrimPrefix(path, "kb_knowledge/")]
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

func (i *instance) failing(_ testing.TB, how connectortest.Breakage) func() {
	i.Fail(func(*http.Request) *servicenowserver.Fault {
		switch how {
		case connectortest.Unauthorized:
			return &servicenowserver.Fault{Status: http.StatusUnauthorized, Body: `{"error":{"message":"User Not Authenticated","detail":"Required to provide Auth information"},"status":"failure"}`}
		case connectortest.RateLimited:
			return &servicenowserver.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {fmt.Sprint(int(connectortest.RateLimitedFor.Seconds()))}}}
		case connectortest.Unavailable:
			return &servicenowserver.Fault{Status: http.StatusServiceUnavailable}
		default:
			return &servicenowserver.Fault{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"result":[{"sys_id":"1`}
		}
	})
	return func() { i.Fail(nil) }
}

func TestRowsPassTheSuite(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, func(t *testing.T) connectortest.Setup {
		i := newInstance(t)
		return connectortest.Setup{
			Kind: i.kind(t), Settings: i.settings(map[string]any{"tables": []any{"incident", "kb_knowledge"}}), Fixture: i, FixedTimes: true,
			UnusualPaths: []string{"a b.md", "日本/語.md", "a%20b+c&d=e#f?.md", "ÄÖ ü.txt", "x'\"y;.md", "-", "a:b.md"},
			ItemPath:     i.itemPath, FixturePath: i.fixturePath, FixtureContent: contentOf, Break: i.failing,
			Lock: func(_ testing.TB, _ string) func() {
				i.Refuse("kb_knowledge", true)
				return func() { i.Refuse("kb_knowledge", false) }
			},
			SetClock: func(at time.Time, _ *time.Location) func(time.Duration) { i.SetClock(at); return i.Advance },
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
			found[item.Path] = item
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
