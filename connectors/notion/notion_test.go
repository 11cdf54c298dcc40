package notion_test

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
	"github.com/magpie-search/magpie/connectors/notion"
	"github.com/magpie-search/magpie/internal/testkit/notionserver"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

// A workspace has one page with files.
type workspace struct {
	*notionserver.Server
	files string // the page that the suite's files are on
	mutex sync.Mutex
}

func newWorkspace(t testing.TB) *workspace {
	t.Helper()
	w := &workspace{Server: notionserver.New()}
	t.Cleanup(w.Close)
	return w
}

// withFiles adds the page that the suite's files are on.
func (w *workspace) withFiles() *workspace {
	w.files = w.Add(notionserver.Page{Title: "Files", Text: "Files"})
	w.Advance(3600e9)
	return w
}

// kind returns the kind, whose requests must be in Notion's published model.
func (w *workspace) kind(t testing.TB) connectors.Kind {
	t.Helper()
	return notion.Kind(connectortest.PublishedDial(t, new(net.Dialer).DialContext, "testdata/published.json", "^/[0-9a-f-]{36}/[0-9a-f-]{36}/"))
}

func (w *workspace) settings(config map[string]any) connectors.Settings {
	made := connectors.Settings{Config: map[string]any{"apiUrl": w.URL}, Credentials: map[string]string{"integrationToken": w.Token}, State: &connectortest.State{}}
	maps.Copy(made.Config, config)
	return made
}

func (w *workspace) open(t testing.TB, settings connectors.Settings) connectors.Source {
	t.Helper()
	return connectortest.Open(t, w.kind(t), settings)
}

func flat(path string) string { return strings.ReplaceAll(path, "/", "∕") }

// Put implements [connectortest.Fixture]: files on a page.
func (w *workspace) Put(_ testing.TB, path string, content []byte) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.Advance(5 * 60e9)
	w.Change(w.files, func(p *notionserver.Page) {
		if at := slices.IndexFunc(p.Files, func(f notionserver.File) bool { return f.Name == flat(path) }); at >= 0 {
			p.Files[at].Data, p.Files[at].Upload = content, ""
			return
		}
		p.Files = append(slices.Clone(p.Files), notionserver.File{Name: flat(path), Data: content})
	})
	w.Advance(5 * 60e9)
}

// Delete implements [connectortest.Fixture].
func (w *workspace) Delete(_ testing.TB, path string) {
	w.Advance(5 * 60e9)
	w.Change(w.files, func(p *notionserver.Page) {
		p.Files = slices.DeleteFunc(slices.Clone(p.Files), func(f notionserver.File) bool { return f.Name == flat(path) })
	})
	w.Advance(5 * 60e9)
}

func (w *workspace) failing(_ testing.TB, how connectortest.Breakage) func() {
	w.Fail(func(*http.Request) *notionserver.Fault {
		switch how {
		case connectortest.Unauthorized:
			return &notionserver.Fault{Status: http.StatusUnauthorized, Body: `{"object":"error","status":401,"code":"unauthorized","message":"API token is invalid."}`}
		case connectortest.RateLimited:
			return &notionserver.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {fmt.Sprint(int(connectortest.RateLimitedFor.Seconds()))}}}
		case connectortest.Unavailable:
			return &notionserver.Fault{Status: http.StatusServiceUnavailable}
		default:
			return &notionserver.Fault{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"object":"list","results":[{"id":"1`}
		}
	})
	return func() { w.Fail(nil) }
}

func TestFilesPassTheSuite(t *testing.T) {
	t.Parallel()
	for name, noMarkdown := range map[string]bool{"Markdown": false, "Blocks": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connectortest.Run(t, func(t *testing.T) connectortest.Setup {
				w := newWorkspace(t).withFiles()
				w.NoMarkdown = noMarkdown
				prefix := "Files-" + strings.ReplaceAll(w.files, "-", "") + "/"
				state := &connectortest.State{}
				settings := w.settings(nil)
				settings.State = state
				return connectortest.Setup{
					Kind: w.kind(t), Settings: settings, Fixture: w, ExpireTokens: func(testing.TB) { state.Clear() }, FixedTimes: true,
					UnusualPaths: []string{"a b.md", "日本/語.md", "a%20b+c&d=e#f?.md", "ÄÖ ü.txt", "x'\"y;.md", "(1).md", "-", "~.md", "a:b.md"},
					ItemPath: func(path string) string {
						if strings.HasPrefix(path, "file:") {
							return path // an id
						}
						return prefix + flat(path)
					},
					FixturePath: func(path string) string { return strings.ReplaceAll(strings.TrimPrefix(path, prefix), "∕", "/") },
					Ignore:      func(item connectors.Item) bool { return strings.HasPrefix(item.ID, "page:") },
					Break:       w.failing, SetClock: func(at time.Time, _ *time.Location) func(time.Duration) { w.SetClock(at); return w.Advance },
				}
			})
		})
	}
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

// expectPaths compares paths without the ids in them.
func expectPaths(t *testing.T, items map[string]connectors.Item, want ...string) {
	t.Helper()
	var got []string
	for path := range items {
		got = append(got, withoutIDs(path))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the paths are %q, want %q", got, want)
	}
}

func withoutIDs(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if at := len(part) - 33; at > 0 && part[at] == '-' && strings.Trim(part[at+1:], "0123456789abcdef") == "" {
			parts[i] = part[:at]
		}
	}
	return strings.Join(parts, "/")
}

func readContent(ctx context.Context, source connectors.Source, item connectors.Item) (string, error) {
	reader, err := source.Open(ctx, item)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(reader)
	return string(content), errors.Join(err, reader.Close())
}
