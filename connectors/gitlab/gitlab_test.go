package gitlab_test

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/gitlab"
	"github.com/magpie-search/magpie/internal/testkit/gitlabserver"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

const root = "acme/files/"

// publishedKind returns the kind, whose requests must be in GitLab's published model.
func publishedKind(t testing.TB) connectors.Kind {
	t.Helper()
	return gitlab.Kind(connectortest.PublishedDial(t, new(net.Dialer).DialContext, "testdata/published.json", `\.git/`))
}

// A site has the project acme/files with the files of the suite.
type site struct{ *gitlabserver.Server }

func newSite(t testing.TB) site {
	t.Helper()
	s := site{gitlabserver.New()}
	t.Cleanup(s.Close)
	s.Add(&gitlabserver.Project{ID: 9, Path: "acme/files", Files: map[string][]byte{}})
	return s
}

func (s site) settings(config map[string]any) connectors.Settings {
	made := connectors.Settings{Config: map[string]any{"instanceUrl": s.URL}, Credentials: map[string]string{"token": gitlabserver.Token}, State: &connectortest.State{}}
	maps.Copy(made.Config, config)
	return made
}

// Put implements [connectortest.Fixture].
func (s site) Put(_ testing.TB, path string, content []byte) {
	s.Change(9, func(p *gitlabserver.Project) { p.Files[path] = content })
}

// Delete implements [connectortest.Fixture].
func (s site) Delete(_ testing.TB, path string) {
	s.Change(9, func(p *gitlabserver.Project) { delete(p.Files, path) })
}

func (s site) failing(_ testing.TB, how connectortest.Breakage) func() {
	s.Fail(func(*http.Request) *gitlabserver.Fault {
		switch how {
		case connectortest.Unauthorized:
			return &gitlabserver.Fault{Status: http.StatusUnauthorized, Body: `{"message":"401 Unauthorized"}`}
		case connectortest.RateLimited:
			return &gitlabserver.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {fmt.Sprint(int(connectortest.RateLimitedFor.Seconds()))}}}
		case connectortest.Unavailable:
			return &gitlabserver.Fault{Status: http.StatusServiceUnavailable}
		default:
			return &gitlabserver.Fault{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"id":`}
		}
	})
	return func() { s.Fail(nil) }
}

func TestFilesPassTheSuite(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, func(t *testing.T) connectortest.Setup {
		s := newSite(t)
		return connectortest.Setup{
			Kind: publishedKind(t), Settings: s.settings(map[string]any{"include_permissions": true}), Fixture: s, Break: s.failing,
			ChangeReaders: func(testing.TB, string) {
				s.Change(9, func(p *gitlabserver.Project) { p.Access = map[string]string{"repository": "private"} })
			},
			UnusualPaths: []string{"a b.md", "日本/語.md", "50%.md", "a+b&c=d.md", "who?.md", "#1.md", "a%2Fb.md", "semi;colon.md", "back\\slash.md", "issues/1.md"},
			ItemPath: func(path string) string {
				if strings.HasPrefix(path, "9:f:") {
					return path // an id
				}
				return root + path
			},
			FixturePath: func(path string) string { return strings.TrimPrefix(path, root) },
			Lock: func(_ testing.TB, _ string) func() {
				s.Change(9, func(p *gitlabserver.Project) { p.Locked = true })
				return func() { s.Change(9, func(p *gitlabserver.Project) { p.Locked = false }) }
			},
		}
	})
}

func open(t testing.TB, settings connectors.Settings) connectors.Source {
	t.Helper()
	return connectortest.Open(t, publishedKind(t), settings)
}

func walk(t testing.TB, source connectors.Source) (items map[string]connectors.Item, incomplete, warnings []string) {
	t.Helper()
	items = map[string]connectors.Item{}
	for cursor := ""; ; {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			items[item.Path] = item
		}
		incomplete, warnings = append(incomplete, page.Incomplete...), append(warnings, page.Warnings...)
		if page.Done {
			return items, incomplete, warnings
		}
		cursor = page.Next
	}
}

func read(t testing.TB, source connectors.Source, item connectors.Item) string {
	t.Helper()
	reader, err := source.Open(t.Context(), item)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestAllContentsBecomeDocuments(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]map[string]any{
		"Path": {"projects": []any{"acme/handbook"}}, "ID": {"projects": []any{"7"}}, "Pattern": {"projects": []any{"acme/hand*"}},
		"Group": {"groups": []any{"acme"}}, "GroupPattern": {"groups": []any{"ac*"}}, "Membership": {},
	} {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/Old=%v", name, old), func(t *testing.T) {
				t.Parallel()
				s := site{gitlabserver.NewSample()}
				t.Cleanup(s.Close)
				s.Old = old
				settings := s.settings(config)
				settings.Config["includeSnippets"] = true
				source := open(t, settings)
				if err := source.Check(t.Context()); err != nil {
					t.Error(err)
				}
				items, _, warnings := walk(t, source)
				want := []string{"acme/handbook!1", "acme/handbook#1", "acme/handbook.wiki/home", "acme/handbook/docs/backups.md", "acme/handbook/readme.md", "acme/handbook/snippets/1/snippet.sh"}
				if got := slices.Sorted(maps.Keys(items)); !slices.Equal(got, want) || len(warnings) > 0 {
					t.Errorf("the paths are %q with %q, want %q", got, warnings, want)
				}
				for path, text := range map[string]string{"acme/handbook#1": "The index is built twice.", "acme/handbook!1": "Fixes the slow restore.", "acme/handbook/snippets/1/snippet.sh": "echo hello"} {
					if got := read(t, source, items[path]); !strings.Contains(got, text) {
						t.Errorf("%s is %q, want %q in it", path, got, text)
					}
				}
			})
		}
	}
}

func TestManyIssuesAreListedCompletely(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	many := make([]gitlabserver.Thread, 350)
	for i := range many {
		many[i].Title = fmt.Sprintf("Issue %d", i)
	}
	s.Add(&gitlabserver.Project{ID: 12, Path: "acme/many", Issues: many})
	s.Change(12, func(p *gitlabserver.Project) {
		for i := 50; i < 300; i++ {
			p.Issues[i].Updated = p.Issues[50].Updated // as after an import
		}
		p.Issues[3].Confidential, p.Issues[3].Notes = true, []gitlabserver.Note{{Text: "for all"}, {Text: "for the team", Internal: true}, {Text: "closed", System: true}}
	})
	source := open(t, s.settings(map[string]any{"projects": []any{"acme/many"}}))
	items, _, _ := walk(t, source)
	if len(items) != len(many) {
		t.Errorf("the walk lists %d issues, want %d", len(items), len(many))
	}
	item := items["acme/many#4"]
	if text := read(t, source, item); item.Metadata["confidential"] != "true" || !strings.Contains(text, "for all") || strings.Contains(text, "for the team") {
		t.Errorf("the confidential issue is %+v with %q", item, text)
	}
}

func TestHiddenProjectsStay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	source := open(t, s.settings(map[string]any{"projects": []any{"acme/files", "acme/gone"}}))
	_, incomplete, warnings := walk(t, source)
	if !slices.Contains(incomplete, "") || len(warnings) != 1 || !strings.Contains(warnings[0], "acme/gone") {
		t.Errorf("incomplete is %q with %q, want the whole source with a warning", incomplete, warnings)
	}
	if err := source.Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "acme/gone") {
		t.Errorf("Check = %v, want the project that is not shown", err)
	}
	s.Fail(func(*http.Request) *gitlabserver.Fault {
		return &gitlabserver.Fault{Status: http.StatusForbidden, Body: `{"error":"insufficient_scope","scope":"api read_api"}`}
	})
	if err := source.Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "read_api") {
		t.Errorf("Check without a scope = %v, want its name", err)
	}
}

func TestAWalkOfAThousandItemsTakesFewRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	files := map[string][]byte{}
	for i := range 500 {
		files[fmt.Sprintf("docs/%d.md", i)] = fmt.Appendf(nil, "file %d", i)
	}
	many := make([]gitlabserver.Thread, 500)
	s.Add(&gitlabserver.Project{ID: 12, Path: "acme/many", Files: files, Issues: many})
	source := open(t, s.settings(map[string]any{"projects": []any{"acme/many"}}))
	items, _, _ := walk(t, source)
	// The project, its branch, five pages of files, six of issues, which overlap, merge requests
	// and the wiki.
	if requests := s.Requests(); len(items) != 1000 || len(requests) != 15 {
		t.Errorf("a walk of %d items takes %d requests, want 15: %q", len(items), len(requests), requests)
	}
}

// The total has the issues that GitLab counts, also those that it does not list.
func TestTheTotalIsCounted(t *testing.T) {
	t.Parallel()
	for count, want := range map[string]int{"2": 7, "40": 45, "": 0, "-1": 0, "many": 0} {
		s := site{gitlabserver.NewSample()}
		t.Cleanup(s.Close)
		s.Add(&gitlabserver.Project{ID: 8, Path: "acme/other"})
		s.Fail(func(r *http.Request) *gitlabserver.Fault {
			if !strings.HasSuffix(r.URL.Path, "/8/issues") {
				return nil
			}
			header := http.Header{"Content-Type": {"application/json"}}
			if count != "" {
				header.Set("X-Total", count)
			}
			issue := `{"iid":%d,"state":"opened","updated_at":"2026-01-01T00:00:00Z","user_notes_count":0}`
			return &gitlabserver.Fault{Status: http.StatusOK, Header: header, Body: "[" + fmt.Sprintf(issue, 1) + "," + fmt.Sprintf(issue, 2) + "]"}
		})
		page, err := open(t, s.settings(nil)).Walk(t.Context(), "")
		if err != nil || !page.Done {
			t.Fatal(page.Done, err)
		}
		// The sample has five items.
		if len(page.Items) != 7 || page.Total != want {
			t.Errorf("a count of %q gives the total %d of %d items", count, page.Total, len(page.Items))
		}
	}
}

// A project that was renamed or moved is found by its old path, which GitLab redirects.
func TestAMovedProjectIsFoundByItsOldPath(t *testing.T) {
	t.Parallel()
	s := site{gitlabserver.NewSample()}
	t.Cleanup(s.Close)
	s.Fail(func(r *http.Request) *gitlabserver.Fault {
		if r.URL.EscapedPath() == "/api/v4/projects/old%2Fname" {
			return &gitlabserver.Fault{Status: http.StatusMovedPermanently, Header: http.Header{"Location": {s.URL + "/api/v4/projects/7"}}}
		}
		return nil
	})
	items, _, warnings := walk(t, open(t, s.settings(map[string]any{"projects": []any{"old/name"}})))
	if _, found := items["acme/handbook#1"]; !found || len(warnings) > 0 {
		t.Errorf("the items are %q, with %q", slices.Sorted(maps.Keys(items)), warnings)
	}
}
