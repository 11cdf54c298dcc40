package gitlab_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
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
