package jira_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	. "github.com/magpie-search/magpie/internal/testkit/jiraserver"
)

// A reader of changes keeps a token, as a sync does.
type changeReader struct {
	settings connectors.Settings
	site     *site
	token    string
}

func newChangeReader(t *testing.T, s *site, config map[string]any) *changeReader {
	t.Helper()
	r := &changeReader{settings: s.settings(config), site: s}
	r.settings.State = &connectortest.State{}
	page := r.next(t)
	if len(page.Items)+len(page.Gone) > 0 || page.More {
		t.Fatalf("the token of the present comes with %+v", page)
	}
	return r
}

func (r *changeReader) next(t *testing.T) connectors.ChangePage {
	t.Helper()
	feeder, ok := r.site.open(t, r.settings).(connectors.Feeder)
	if !ok {
		t.Fatal("the source is no Feeder")
	}
	page, err := feeder.Changes(t.Context(), r.token)
	if err != nil {
		t.Fatal(err)
	}
	if !page.Expired {
		if len(page.Next) > connectors.MaxTokenBytes || page.Next == "" {
			t.Fatalf("the token %q", page.Next)
		}
		r.token = page.Next
	}
	return page
}

// all reads the changes to their end.
func (r *changeReader) all(t *testing.T) (items map[string]connectors.Item, gone []string) {
	t.Helper()
	items = map[string]connectors.Item{}
	for range 100 {
		page := r.next(t)
		if page.Expired {
			t.Fatal("the token has expired")
		}
		for _, item := range page.Items {
			items[item.ID] = item
		}
		gone = append(gone, page.Gone...)
		if !page.More {
			return items, gone
		}
	}
	t.Fatal("the changes do not end")
	return nil, nil
}

func TestChangesAreFed(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		s.AddProject(Project{Key: "OTHER"})
		same := s.Add(Issue{Project: "TST", Summary: "same", Labels: []string{"in"}})
		edited := s.Add(Issue{Project: "TST", Summary: "edited", Labels: []string{"in"}, Files: []File{{Name: "a.txt", Data: []byte("a")}, {Name: "b.txt", Data: []byte("b")}}})
		deleted := s.Add(Issue{Project: "TST", Summary: "deleted", Labels: []string{"in"}, Files: []File{{Name: "c.txt", Data: []byte("c")}}})
		moved := s.Add(Issue{Project: "TST", Summary: "moved", Labels: []string{"in"}})
		out := s.Add(Issue{Project: "TST", Summary: "leaves the query", Labels: []string{"in"}})
		s.Advance(time.Hour)
		reader := newChangeReader(t, s, map[string]any{"projectKeys": []any{"TST"}, "jql": "labels = in", "includeAttachments": true})
		if items, gone := reader.all(t); len(gone) > 0 || items["issue:"+same].ID != "" {
			t.Errorf("without a change: %v, %q", slices.Collect(maps.Keys(items)), gone)
		}
		before, _ := s.Find("TST-2")
		s.Advance(time.Hour)
		s.Change(edited, func(i *Issue) { i.Summary, i.Files = "edited again", i.Files[1:] })
		s.Remove(deleted)
		s.Move(moved, "OTHER")
		s.Change(out, func(i *Issue) { i.Labels = nil })
		created := s.Add(Issue{Project: "TST", Summary: "new", Labels: []string{"in"}})
		late := s.Add(Issue{Project: "TST", Summary: "late in the index", Labels: []string{"in"}, Unindexed: true})
		lost, _ := s.Find("TST-3")
		if lost.ID != "" {
			t.Fatal("the deleted issue is there")
		}
		unmoved := reader.token
		for range 2 { // the second time as after a dry run, which moves no token
			reader.token = unmoved
			items, gone := reader.all(t)
			if items["issue:"+edited].Title != "TST-2: edited again" || items["issue:"+created].ID == "" || items["issue:"+same].ID != "" {
				t.Errorf("the items are %q", slices.Sorted(maps.Keys(items)))
			}
			want := []string{"issue:" + deleted, "issue:" + moved, "issue:" + out, "attachment:" + edited + "/" + before.Files[0].ID}
			for _, id := range want {
				if !slices.Contains(gone, id) {
					t.Errorf("%s is not gone: %q", id, gone)
				}
			}
			if len(gone) != len(want)+1 || !slices.ContainsFunc(gone, func(id string) bool { return strings.HasPrefix(id, "attachment:"+deleted+"/") }) {
				t.Errorf("gone: %q", gone)
			}
		}
		// The index catches up with an issue whose update is not the newest.
		s.Change(same, func(*Issue) {})
		reader.all(t)
		s.Change(late, func(i *Issue) { i.Unindexed, i.Updated = false, i.Updated.Add(-90*time.Second) })
		if items, gone := reader.all(t); items["issue:"+late].ID == "" || len(gone) > 0 {
			t.Errorf("the late issue is missing among %q; gone %q", slices.Sorted(maps.Keys(items)), gone)
		}
	})
}

// The readers of an updated issue are read again, since its security level may be what
// was updated.
func TestReadersOfUpdatedIssuesAreReadAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	id := s.Add(Issue{Project: "TST", Summary: "a", Files: []File{{Name: "a.txt", Data: []byte("a")}}})
	for imports, want := range map[bool]int{true: 2, false: 0} {
		reader := newChangeReader(t, s, map[string]any{"includeAttachments": true, "include_permissions": imports})
		s.Advance(time.Hour)
		s.Change(id, func(i *Issue) { i.Level = "7" })
		if page := reader.next(t); len(page.Items) != 2 || len(page.Permissions) != want {
			t.Errorf("with permissions %v: %d items, permissions %q", imports, len(page.Items), page.Permissions)
		}
	}
}

// An issue that the index does not list for a while is not gone.
func TestTheIndexIsNotTrusted(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	hidden := s.Add(Issue{Project: "TST", Summary: "a", Labels: []string{"in"}})
	s.Add(Issue{Project: "TST", Summary: "b", Labels: []string{"in"}})
	for _, config := range []map[string]any{nil, {"jql": "labels = in"}} {
		reader := newChangeReader(t, s, config)
		s.Change(hidden, func(i *Issue) { i.Unindexed = true })
		for range 2 {
			if _, gone := reader.all(t); len(gone) > 0 {
				t.Errorf("%v: gone %q", config, gone)
			}
		}
		s.Remove(hidden)
		if _, gone := reader.all(t); !slices.Equal(gone, []string{"issue:" + hidden}) {
			t.Errorf("%v: gone %q after the deletion", config, gone)
		}
		hidden = s.Add(Issue{Project: "TST", Summary: "c", Labels: []string{"in"}})
	}
}

func TestTokensExpire(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	for n := range 250 {
		s.Add(Issue{Project: "TST", Summary: fmt.Sprint(n)})
	}
	reader := newChangeReader(t, s, nil)
	s.Advance(time.Hour)
	for n := range 250 {
		issue, _ := s.Find(fmt.Sprintf("TST-%d", n+1))
		s.Change(issue.ID, func(*Issue) {})
	}
	// Cloud forgets the token of a page: the window is read again.
	first := reader.next(t)
	s.ExpirePages()
	items, _ := reader.all(t)
	if !first.More || len(items) < 250 {
		t.Errorf("%d items after the token of a page had expired", len(items))
	}
	// Without the state, nothing is known about deletions.
	reader.settings.State = &connectortest.State{}
	if page := reader.next(t); !page.Expired {
		t.Errorf("a token without its state gives %+v", page)
	}
	for _, token := range []string{"{}", "x", `{"s":-1}`, `{"s":1,"g":"../../x"}`} {
		reader.token = token
		if page := reader.next(t); !page.Expired {
			t.Errorf("the token %q gives %+v", token, page)
		}
	}
}

// A project that is no longer shown to the account keeps its documents, until the
// config names others.
func TestAProjectThatIsNoLongerShown(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		lost := s.AddProject(Project{Key: "LOST"})
		s.AddProject(Project{Key: "EMPTY"})
		kept := s.Add(Issue{Project: "TST", Summary: "kept"})
		s.Add(Issue{Project: "LOST", Summary: "lost"})
		s.Advance(time.Hour)
		show := func(shown bool) {
			for _, key := range []string{"LOST", "EMPTY"} {
				s.ChangeProject(key, func(p *Project) { p.Invisible = !shown })
			}
		}
		state := &connectortest.State{}
		read := func(config map[string]any, paths int, incomplete ...string) string {
			t.Helper()
			settings := s.settings(config)
			settings.State = state
			source := s.open(t, settings)
			present, err := source.(connectors.Feeder).Changes(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			page, err := source.Walk(t.Context(), "")
			if err != nil || !page.Done || len(page.Items) != paths || !slices.Equal(page.Incomplete, incomplete) || len(page.Warnings) != len(incomplete) {
				t.Errorf("%d items, incomplete %q, want %q, warnings %q, %v", len(page.Items), page.Incomplete, incomplete, page.Warnings, err)
			}
			if len(incomplete) > 0 && !strings.Contains(strings.Join(page.Warnings, " "), "LOST") {
				t.Errorf("the warnings are %q", page.Warnings)
			}
			return present.Next
		}
		changes := func(token string) connectors.ChangePage {
			t.Helper()
			settings := s.settings(nil)
			settings.State = state
			page, err := s.open(t, settings).(connectors.Feeder).Changes(t.Context(), token)
			if err != nil {
				t.Fatal(err)
			}
			return page
		}
		token := read(nil, 2)
		if page := changes(token); page.Expired || len(page.Warnings) > 0 {
			t.Errorf("while both are shown: %+v", page)
		}
		show(false)
		if page := changes(token); !page.Expired {
			t.Errorf("the feed goes on without a project: gone %q", page.Gone)
		}
		resolve := func(want int, names ...string) {
			t.Helper()
			settings := s.settings(nil)
			settings.State = state
			found, missing, err := s.open(t, settings).(connectors.Resolver).Resolve(t.Context(), names)
			if err != nil || len(found) != 1 || len(missing) != want {
				t.Errorf("found %d, missing %q, %v", len(found), missing, err)
			}
		}
		resolve(0, "LOST/LOST-1", "issue:"+kept, "issue:999999")
		read(nil, 1, lost)
		token = read(nil, 1, lost) // as with a walk a week later
		s.Change(kept, func(*Issue) {})
		if page := changes(token); page.Expired || len(page.Gone) > 0 || len(page.Items) != 1 || len(page.Warnings) != 1 {
			t.Errorf("the feed without the project: %+v", page)
		}
		show(true)
		if page := changes(token); !page.Expired {
			t.Errorf("a project that is back needs a walk: %+v", page)
		}
		read(nil, 2)
		resolve(2, "LOST/LOST-9", "issue:"+kept, "issue:999999")
		show(false)
		read(map[string]any{"projectKeys": []any{"TST"}}, 1)
		token = read(nil, 1)
		if page := changes(token); page.Expired {
			t.Errorf("a project without documents is not waited for: %+v", page)
		}
	})
}

// No change is lost, wherever the account lives and whatever the clocks say.
func TestTimeZonesAndClocksLoseNothing(t *testing.T) {
	t.Parallel()
	zones := map[string]*time.Location{"UTC-11": time.FixedZone("UTC-11", -11*3600), "UTC+14": time.FixedZone("UTC+14", 14*3600), "UTC": time.UTC}
	if berlin, err := time.LoadLocation("Europe/Berlin"); err == nil {
		zones["Berlin"] = berlin
	}
	for name, zone := range zones {
		for _, skew := range []time.Duration{-10 * time.Minute, 0, 10 * time.Minute, 24 * time.Hour} {
			t.Run(fmt.Sprint(name, skew), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, true)
				s.ChangeUser(s.reader.ID, func(u *User) { u.Zone = zone })
				s.Skew(skew)
				// The hour in which summer time ends in Berlin.
				s.Advance(time.Date(2024, 10, 27, 0, 30, 0, 0, time.UTC).Sub(time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC)))
				var ids []string
				for n := range 5 {
					ids = append(ids, s.Add(Issue{Project: "TST", Summary: fmt.Sprint(n)}))
				}
				reader := newChangeReader(t, s, nil)
				for step := range 12 {
					s.Advance(time.Duration(step) * 7 * time.Minute)
					id := ids[step%len(ids)]
					s.Change(id, func(*Issue) {})
					if items, gone := reader.all(t); items["issue:"+id].ID == "" || len(gone) > 0 {
						t.Fatalf("step %d: the change of %s is lost; gone %q", step, id, gone)
					}
				}
			})
		}
	}
}

// An unchanged sync reads the window and the ids.
func TestAnUnchangedFeedNeedsFewRequests(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		for n := range 10_000 {
			s.Add(Issue{Project: "TST", Summary: fmt.Sprint(n)})
		}
		s.Advance(time.Hour)
		reader := newChangeReader(t, s, nil)
		before := s.Requests("")
		items, gone := reader.all(t)
		requests := s.Requests("") - before
		t.Logf("%d requests, %d items", requests, len(items))
		if requests > 15 || len(gone) > 0 || len(items) > 1 {
			t.Errorf("%d requests, %d items, gone %q", requests, len(items), gone)
		}
	})
}
