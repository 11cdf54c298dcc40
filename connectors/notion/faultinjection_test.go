package notion_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/notion"
	. "github.com/magpie-search/magpie/internal/testkit/notionserver"
)

// newWorkspaceWithLists returns a workspace in which every list has three entries.
func newWorkspaceWithLists(t *testing.T) (w *workspace, source, files, database, home string, tasks []string) {
	t.Helper()
	w = newWorkspace(t)
	w.MaxLines = 2
	home = w.Add(Page{Title: "Home", Text: "One\nTwo\nThree\nFour\nFive", Comments: []string{"First", "Second", "Third"}})
	toggle := w.AddBlock(home)
	w.Add(Page{Title: "In a toggle", Parent: toggle, Text: "Hidden"})
	files = w.Add(Page{Title: "Files", Parent: home, Text: "Below", Files: []File{{Name: "a.csv", Data: []byte("a,b\n1,2\n")}, {Name: "b.txt", Data: []byte("some text")}, {Name: "c.txt", Data: []byte("more text")}}})
	database, source = w.AddDatabase("Tasks", home)
	w.AddDatabase("Empty", home)
	w.AddDatabase("Other", "")
	for n := range 3 {
		status := map[string]any{"Status": map[string]any{"id": "s", "type": "status", "status": map[string]any{"name": "Open"}}}
		tasks = append(tasks, w.Add(Page{Title: fmt.Sprintf("Task %d", n), Parent: source, Text: "Do it", Properties: status}))
	}
	w.Advance(3600e9)
	return w, source, files, database, home, tasks
}

// oneItemPages reduces the page size of a request, in its query or body.
func oneItemPages(r *http.Request) {
	query := r.URL.Query()
	if query.Has("page_size") {
		query.Set("page_size", "1")
		r.URL.RawQuery = query.Encode()
	}
	if r.Method != http.MethodPost {
		return
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var body map[string]any
	if json.Unmarshal(text, &body) == nil && body["page_size"] != nil {
		body["page_size"] = 1
		if changed, err := json.Marshal(body); err == nil {
			text = changed
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	r.Header.Set("Content-Length", fmt.Sprint(len(text)))
}

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	for name, noMarkdown := range map[string]bool{"Markdown": false, "Blocks": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connectortest.RunFaultInjection(t, func(t *testing.T) connectortest.FaultInjection {
				w, source, files, database, home, tasks := newWorkspaceWithLists(t)
				w.NoMarkdown = noMarkdown
				lists := map[string]*regexp.Regexp{
					"rows":     regexp.MustCompile(`/data_sources/` + source + `/query$`),
					"children": regexp.MustCompile(`/blocks/` + files + `/children`),
					"comments": regexp.MustCompile(`/comments\?`),
				}
				settings := w.settings(map[string]any{"includeComments": true, "databases": []any{database}, "rootPages": []any{home}})
				token, state := connectortest.RecordFeed(t, notion.Kind(new(net.Dialer).DialContext), settings)
				w.Advance(3600e9)
				w.Change(home, func(p *Page) { p.Title = "House" })
				w.Change(files, func(p *Page) { p.Files = p.Files[1:] })
				w.Add(Page{Title: "New", Parent: home, Text: "It is new, and some more"})
				w.Add(Page{Title: "Task 3", Parent: source, Text: "Do it as well"})
				w.Set(tasks[0], func(p *Page) { p.Trashed = true })
				w.Set(tasks[1], func(p *Page) { p.Unshared = true })
				w.Advance(3600e9)
				return connectortest.FaultInjection{
					Kind: notion.Kind, Settings: settings, FeedToken: token, FeedState: state,
					AbsentNames: []string{"page:00000000-0000-0000-0000-000000000000", "nothing"},
					PagedList: func(r *http.Request) string {
						for name, pattern := range lists {
							if pattern.MatchString(r.RequestURI) {
								return name
							}
						}
						if !strings.HasSuffix(r.URL.Path, "/search") {
							return ""
						}
						body, err := io.ReadAll(r.Body)
						if err != nil {
							return ""
						}
						r.Body = io.NopCloser(bytes.NewReader(body))
						if bytes.Contains(body, []byte(`"data_source"`)) {
							return "sources"
						}
						return "pages"
					},
					ShrinkPages: oneItemPages,
					Undetectable: func(e connectortest.Exchange, fault string) string {
						for _, visible := range []string{"login page", "page of a proxy", "original content type", "page that calls itself JSON", "end of the connection", "chunked", "gzip", "no content", "partial content"} {
							if strings.Contains(fault, visible) {
								return ""
							}
						}
						if strings.Contains(e.URI, "X-Amz-Signature") {
							return "Notion tells neither the size of a file nor a hash"
						}
						return ""
					},
				}
			})
		})
	}
}
