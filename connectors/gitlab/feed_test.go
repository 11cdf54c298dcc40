package gitlab_test

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/gitlab"
	"github.com/magpie-search/magpie/internal/testkit/gitlabserver"
)

// newFeed returns a source and its token of the present.
func newFeed(t testing.TB, settings connectors.Settings) (connectors.Feeder, string) {
	t.Helper()
	feeder, ok := open(t, settings).(connectors.Feeder)
	if !ok {
		t.Fatal("the source is no Feeder")
	}
	return feeder, changes(t, feeder, "").Next
}

func changes(t testing.TB, feeder connectors.Feeder, token string) connectors.ChangePage {
	t.Helper()
	page, err := feeder.Changes(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func TestChangesOfAllContentsAreRead(t *testing.T) {
	t.Parallel()
	s := site{gitlabserver.NewSample()}
	t.Cleanup(s.Close)
	feeder, token := newFeed(t, s.settings(map[string]any{"includeSnippets": true}))
	for _, c := range []struct {
		name        string
		change      func(p *gitlabserver.Project)
		items, gone []string
	}{
		{"issue", func(p *gitlabserver.Project) { p.Issues[0].Updated = p.Issues[0].Updated.Add(time.Hour) }, []string{"7:i:1"}, nil},
		{"merge request", func(p *gitlabserver.Project) { p.Merges[0].Updated = p.Merges[0].Updated.Add(time.Hour) }, []string{"7:m:1"}, nil},
		{"file", func(p *gitlabserver.Project) {
			p.Files["readme.md"] = []byte("new")
			delete(p.Files, "docs/backups.md")
		}, []string{"7:f:readme.md"}, []string{"7:f:docs/backups.md"}},
		{"wiki", func(p *gitlabserver.Project) { p.Pages = map[string]string{"start": "Welcome"} }, []string{"7:w:start"}, []string{"7:w:home"}},
		{"snippet", func(p *gitlabserver.Project) { p.Snippets = nil }, nil, []string{"7:s:1"}},
		{"last file", func(p *gitlabserver.Project) { p.Files = nil }, nil, []string{"7:f:readme.md"}},
	} {
		s.Change(7, c.change)
		page := changes(t, feeder, token)
		token = page.Next
		var ids []string
		for _, item := range page.Items {
			ids = append(ids, item.ID)
		}
		for _, id := range c.items {
			if !slices.Contains(ids, id) {
				t.Errorf("%s: the changes are %q, want %q in them", c.name, ids, id)
			}
		}
		// The last thread of each list is within the overlap.
		if slices.ContainsFunc(ids, func(id string) bool { return id[2] != 'i' && id[2] != 'm' && !slices.Contains(c.items, id) }) || !slices.Equal(page.Gone, c.gone) || page.Expired {
			t.Errorf("%s: changed are %q and gone are %q, expired: %v; want %q and %q", c.name, ids, page.Gone, page.Expired, c.items, c.gone)
		}
	}
}

// The clock and the time zone of the server, which name the times of its updates, may
// differ from those of Magpie.
func TestUpdatesAreReadWithAnyClock(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Truncate(time.Second)
	for name, c := range map[string]struct {
		zone  *time.Location
		start time.Time
	}{
		"west":            {time.FixedZone("UTC-11", -11*60*60), now},
		"east":            {time.FixedZone("UTC+14", 14*60*60), now},
		"an hour twice":   {berlin, time.Date(2026, 10, 25, 0, 20, 0, 0, time.UTC)},
		"an hour missing": {berlin, time.Date(2026, 3, 29, 0, 20, 0, 0, time.UTC)},
		"behind":          {time.UTC, now.Add(-10 * time.Minute)},
		"ahead":           {time.UTC, now.Add(10 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := site{gitlabserver.NewSample()}
			t.Cleanup(s.Close)
			at := c.start
			issues := func(change func(list []gitlabserver.Thread) []gitlabserver.Thread) {
				s.Change(7, func(p *gitlabserver.Project) { p.Issues = change(p.Issues) })
			}
			issues(func(list []gitlabserver.Thread) []gitlabserver.Thread {
				list[0].Updated = at.In(c.zone)
				return list
			})
			feeder, token := newFeed(t, s.settings(nil))
			for round, tick := range []time.Duration{0, time.Second, 7 * time.Minute, 0, 40 * time.Minute, 40 * time.Minute, time.Second} {
				at = at.Add(tick)
				want := []string{"7:i:1"}
				issues(func(list []gitlabserver.Thread) []gitlabserver.Thread {
					list[0].Updated = at.In(c.zone)
					if round%2 == 1 {
						list = append(list, gitlabserver.Thread{Title: "More", Text: "More.", Updated: at.In(c.zone)})
						want = append(want, fmt.Sprintf("7:i:%d", len(list)))
					}
					return list
				})
				page := changes(t, feeder, token)
				token = page.Next
				for _, id := range want {
					if !slices.ContainsFunc(page.Items, func(item connectors.Item) bool { return item.ID == id }) {
						t.Errorf("round %d at %s: no change of %s", round, at.In(c.zone), id)
					}
				}
			}
		})
	}
}

func TestOtherProjectsNeedAWalk(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s site){
		"New":     func(s site) { s.Add(&gitlabserver.Project{ID: 8, Path: "acme/other"}) },
		"Renamed": func(s site) { s.Change(9, func(p *gitlabserver.Project) { p.Path = "acme/renamed" }) },
		"Many": func(s site) {
			s.Change(9, func(p *gitlabserver.Project) {
				for n := range connectors.MaxPageItems + 1 {
					p.Files[fmt.Sprint(n, ".md")] = []byte("many")
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			feeder, token := newFeed(t, s.settings(nil))
			change(s)
			if page := changes(t, feeder, token); !page.Expired {
				t.Errorf("the changes are %+v, want Expired", page)
			}
		})
	}
}

func TestHiddenPartsKeepTheirPosition(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Put(t, "a.md", []byte("first"))
	feeder, token := newFeed(t, s.settings(nil))
	s.Change(9, func(p *gitlabserver.Project) { p.Locked, p.Files["a.md"] = true, []byte("second") })
	page := changes(t, feeder, token)
	if len(page.Items)+len(page.Gone) > 0 || len(page.Warnings) != 4 || page.Expired {
		t.Errorf("the changes of a hidden project are %+v, want 4 warnings", page)
	}
	s.Change(9, func(p *gitlabserver.Project) { p.Locked = false })
	if page = changes(t, feeder, page.Next); len(page.Items) != 1 || len(page.Gone) > 0 {
		t.Errorf("the changes of a project that is shown again are %+v, want one item", page)
	}
}

// The changes of many projects come in pages. A feed that was interrupted begins again
// from its first token.
func TestChangesOfManyProjectsComeInPages(t *testing.T) {
	t.Parallel()
	s := site{gitlabserver.New()}
	t.Cleanup(s.Close)
	const number = 45
	for id := range int64(number) {
		s.Add(&gitlabserver.Project{ID: id + 1, Path: fmt.Sprint("acme/p", id+1), Files: map[string][]byte{"a.md": []byte("first"), "b.md": []byte("second")}})
	}
	feeder, first := newFeed(t, s.settings(map[string]any{"includeWikis": false}))
	read := func(token string) (items, gone []string, next string, pages int) {
		for more := true; more; pages++ {
			s.Requests()
			page := changes(t, feeder, token)
			if requests := len(s.Requests()); page.Expired || requests > 20*3+40 {
				t.Fatalf("a page takes %d requests, expired: %v", requests, page.Expired)
			}
			for _, item := range page.Items {
				items = append(items, item.ID)
			}
			gone, token, more = append(gone, page.Gone...), page.Next, page.More
		}
		return items, gone, token, pages
	}
	if items, gone, _, pages := read(first); len(items)+len(gone) > 0 || pages != 3 {
		t.Errorf("unchanged projects have the changes %q and %q in %d pages, want 3 empty ones", items, gone, pages)
	}
	for _, id := range []int64{1, 25, 45} {
		s.Change(id, func(p *gitlabserver.Project) {
			p.Files["a.md"] = []byte("another")
			delete(p.Files, "b.md")
		})
	}
	changes(t, feeder, changes(t, feeder, first).Next) // and the rest is never read
	items, gone, last, _ := read(first)
	if !slices.Equal(items, []string{"1:f:a.md", "25:f:a.md", "45:f:a.md"}) || !slices.Equal(gone, []string{"1:f:b.md", "25:f:b.md", "45:f:b.md"}) {
		t.Errorf("the changes are %q and %q", items, gone)
	}
	if items, gone, _, _ = read(last); len(items)+len(gone) > 0 {
		t.Errorf("the changes come again: %q and %q", items, gone)
	}
}

// Any cursor and token is an error, an expired feed or an ordinary page.
func FuzzPositions(f *testing.F) {
	s := site{gitlabserver.NewSample()}
	f.Cleanup(s.Close)
	settings := s.settings(nil)
	// Cursors have queries, so that those of the fuzzer need not be published.
	source := connectortest.Open(f, gitlab.Kind(new(net.Dialer).DialContext), settings)
	feeder, ok := source.(connectors.Feeder)
	if !ok {
		f.Fatal("the source is no Feeder")
	}
	f.Add(changes(f, feeder, "").Next)
	for _, text := range []string{`{"p":7,"s":1,"t":"2026-01-01T00:00:00.000Z","n":2}`, `{"p":7,"q":"page=2"}`, `{"v":2,"r":"0","p":{}}`, "{}", "null", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if page, err := source.Walk(t.Context(), text); err == nil && !page.Done && page.Next == "" {
			t.Errorf("the page of %q has no next one", text)
		}
		page, err := feeder.Changes(t.Context(), text)
		if err == nil && !page.Expired && page.Next == "" {
			t.Errorf("the changes of %q have no next token", text)
		}
		if lister, ok := source.(connectors.GroupLister); ok && err == nil {
			if page, err := lister.Groups(t.Context(), text); err == nil && !page.Done && page.Next == "" {
				t.Errorf("the groups of %q have no next page", text)
			}
		}
	})
}
