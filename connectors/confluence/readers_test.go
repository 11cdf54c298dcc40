package confluence_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	. "github.com/magpie-search/magpie/internal/testkit/confluenceserver"
)

// allGroups returns the members of all groups, and the warnings.
func allGroups(t *testing.T, source connectors.Source) (map[string][]string, []string) {
	t.Helper()
	lister, ok := source.(connectors.GroupLister)
	if !ok {
		t.Fatal("the source has no directory")
	}
	found, cursor := map[string][]string{}, ""
	var warnings []string
	for range 1000 {
		page, err := lister.Groups(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range page.Groups {
			if _, twice := found[g.Principal]; twice {
				t.Errorf("the group %s came twice", g.Principal)
			}
			found[g.Principal] = g.Members
		}
		warnings = append(warnings, page.Warnings...)
		if page.Done {
			return found, warnings
		}
		cursor = page.Next
	}
	t.Fatal("the directory does not end")
	return nil, nil
}

func readersOf(t *testing.T, source connectors.Source, items ...connectors.Item) map[string]connectors.Readers {
	t.Helper()
	lister, _ := source.(connectors.PermissionLister)
	found, err := lister.Readers(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// addressesOf are the mail addresses that readers come to, by what the directory says.
func addressesOf(r connectors.Readers, groups map[string][]string) string {
	if r.Everyone {
		return "everyone"
	}
	var found []string
	for _, p := range r.Principals {
		if mail, one := strings.CutPrefix(p, "user:"); one {
			found = append(found, mail)
		}
		for _, member := range groups[p] {
			found = append(found, strings.TrimPrefix(member, "user:"))
		}
	}
	slices.Sort(found)
	return strings.ReplaceAll(strings.Join(slices.Compact(found), " "), "@example.com", "")
}

// A restrictedSite has people, groups and pages with restrictions of all sorts.
type restrictedSite struct {
	*site
	ids   map[string]string // of groups
	users map[string]User
}

func newRestrictedSite(t *testing.T, s *site) *restrictedSite {
	t.Helper()
	w := &restrictedSite{site: s, ids: map[string]string{}, users: map[string]User{}}
	for _, name := range []string{"ada", "bo", "cy", "di", "eve"} {
		w.users[name] = s.AddUser(User{Name: name, Display: strings.ToUpper(name), Email: strings.ToUpper(name[:1]) + name[1:] + "@Example.com"})
	}
	id := func(names ...string) []string {
		list := []string{s.reader.ID}
		for _, name := range names {
			list = append(list, w.users[name].ID)
		}
		return list
	}
	w.ids["staff"] = s.AddGroup("Staff", id("ada", "bo", "cy", "di")...)
	w.ids["eng"] = s.AddGroup("eng/core", id("ada", "bo")...)
	w.ids["hr"] = s.AddGroup("hr", id("bo", "cy")...)
	w.ids["outside"] = s.AddGroup("outside", id("eve", "ada")...)
	s.ChangeSpace("TST", func(space *Space) { space.Users, space.Groups = nil, []string{w.ids["staff"]} })
	return w
}

func (w *restrictedSite) settings(config map[string]any) connectors.Settings {
	made := w.site.settings(map[string]any{"include_permissions": true})
	maps.Copy(made.Config, config)
	made.State = &connectortest.State{}
	return made
}

func TestRestrictionsAreInheritedAndIntersect(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		w := newRestrictedSite(t, s)
		group := func(names ...string) []string {
			var ids []string
			for _, name := range names {
				ids = append(ids, w.ids[name])
			}
			return ids
		}
		me := s.reader.ID
		home := s.Add(Content{Space: "TST", Title: "home"})
		eng := s.Add(Content{Parent: home, Title: "eng", Groups: group("eng")})
		both := s.Add(Content{Parent: eng, Title: "eng-hr", Groups: group("hr")})
		s.Add(Content{Parent: both, Title: "below"})
		s.Add(Content{Parent: both, Title: "one-of-them", Users: []string{me, w.users["bo"].ID, w.users["eve"].ID}})
		s.Add(Content{Parent: home, Title: "either", Groups: group("eng", "hr")})
		s.Add(Content{Parent: home, Title: "from-outside", Groups: group("outside")})
		s.Add(Content{Parent: home, Title: "all-staff", Groups: group("staff", "outside")})
		s.Add(Content{Parent: home, Title: "person", Users: []string{me, w.users["di"].ID}})
		s.Add(Content{Parent: home, Title: "nobody-else", Users: []string{me}})
		s.Add(Content{Type: "attachment", Container: both, Title: "f.txt", Data: []byte("x")})
		want := map[string]string{
			"home": "ada bo cy di reader", "eng": "ada bo reader", "eng-hr": "bo reader", "below": "bo reader", "f.txt": "bo reader",
			"one-of-them": "bo reader", "either": "ada bo cy reader", "from-outside": "ada reader", "all-staff": "ada bo cy di reader",
			"person": "di reader", "nobody-else": "reader",
		}
		settings := w.settings(nil)
		source := s.open(t, settings)
		if err := source.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, _ := walk(t, source)
		items := slices.Collect(maps.Values(found))
		compare := func(how string, source connectors.Source, items []connectors.Item, groups map[string][]string, want map[string]string) {
			t.Helper()
			readers := readersOf(t, source, items...)
			for _, item := range items {
				title := item.Path[strings.LastIndex(item.Path, "/")+1:]
				if got := addressesOf(readers[item.ID], groups); got != want[title] {
					t.Errorf("%s: %s is read by %q, want %q (%v)", how, title, got, want[title], readers[item.ID])
				}
			}
		}
		asked := s.Requests("/restriction/")
		readersOf(t, source, items...)
		if more := s.Requests("/restriction/") - asked; more > 0 {
			t.Errorf("%d requests for readers that the walk had returned", more)
		}
		groups, warnings := allGroups(t, source)
		if len(warnings) > 0 {
			t.Errorf("warnings %q", warnings)
		}
		compare("after the walk", source, items, groups, want)
		// Another process, which has not walked, and items without their facts.
		bare := make([]connectors.Item, len(items))
		for i, item := range items {
			bare[i] = connectors.Item{ID: item.ID, Path: item.Path}
		}
		compare("without a walk", s.open(t, settings), bare, groups, want)
		// Without state there are no groups to list later.
		untold := settings
		untold.State = nil
		compare("without notes", s.open(t, untold), items, groups, want)

		// Who leaves a group loses its pages with the next look at the groups alone.
		readers := readersOf(t, source, items...)
		s.SetMembers(w.ids["hr"], me, w.users["cy"].ID)
		fresh, _ := allGroups(t, s.open(t, settings))
		for _, item := range items {
			if title := item.Path[strings.LastIndex(item.Path, "/")+1:]; title == "eng-hr" || title == "below" {
				if got := addressesOf(readers[item.ID], fresh); got != "reader" {
					t.Errorf("%s is read by %q when nobody else is on both lists", title, got)
				}
			}
		}
		// What is not there, or not the connector's, is for nobody.
		for _, id := range []string{"page:999", "page:x", "attachment:att9", "", "page:" + home + "0"} {
			if r, ok := readersOf(t, source, connectors.Item{ID: id})[id]; ok {
				t.Errorf("%q is read by %+v", id, r)
			}
		}
	})
}

func TestPublicSpacesAreReadableByEveryone(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		w := newRestrictedSite(t, s)
		s.ChangeSpace("TST", func(space *Space) { space.Anonymous = true })
		home := s.Add(Content{Space: "TST", Title: "home"})
		s.Add(Content{Parent: home, Title: "eng", Groups: []string{w.ids["eng"]}})
		source := s.open(t, w.settings(nil))
		found, _ := walk(t, source)
		readers := readersOf(t, source, found["TST/home"], found["TST/home/eng"])
		groups, _ := allGroups(t, source)
		if got := addressesOf(readers["page:"+home], groups); got != "everyone" {
			t.Errorf("the home page: %s", got)
		}
		if got := addressesOf(readers[found["TST/home/eng"].ID], groups); got != "ada bo reader" {
			t.Errorf("the restricted page: %s", got)
		}
		// The site can forbid what the space allows.
		s.NoAnonymous = true
		found, _ = walk(t, source)
		if got := addressesOf(readersOf(t, source, found["TST/home"])["page:"+home], groups); got != "ada bo cy di reader" {
			t.Errorf("without anonymous access: %s", got)
		}
	})
}

func TestPeopleWithHiddenAddresses(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		w := newRestrictedSite(t, s)
		hidden := s.AddUser(User{Name: "hid", Email: "hid@example.com", Hidden: true})
		app := s.AddUser(User{Name: "bot", App: s.cloud, Email: "bot@example.com"})
		s.SetMembers(w.ids["staff"], s.reader.ID, w.users["ada"].ID, hidden.ID, app.ID)
		page := s.Add(Content{Space: "TST", Title: "p", Users: []string{hidden.ID, s.reader.ID}})
		source := s.open(t, w.settings(nil))
		found, _ := walk(t, source)
		readers := readersOf(t, source, found["TST/p"])
		groups, warnings := allGroups(t, source)
		if len(warnings) != 1 || !strings.Contains(warnings[0], "hides the mail addresses") {
			t.Errorf("warnings %q", warnings)
		}
		if got := addressesOf(readers["page:"+page], groups); got != "reader" {
			t.Errorf("the page is read by %q", got)
		}
		for name, members := range groups {
			if strings.Contains(fmt.Sprint(members), "hid") {
				t.Errorf("%s has %q", name, members)
			}
		}
		if !s.cloud {
			return
		}
		// Programs alone are no reason to warn.
		s.SetMembers(w.ids["staff"], s.reader.ID, app.ID)
		s.Change(page, true, func(c *Content) { c.Users = nil })
		other := s.open(t, w.settings(nil))
		if _, warnings := allGroups(t, other); len(warnings) > 0 {
			t.Errorf("warnings %q", warnings)
		}
	})
}

func TestOlderDataCenter(t *testing.T) {
	t.Parallel()
	s := newSite(t, false)
	w := newRestrictedSite(t, s)
	s.NoPermissions, s.NoScan = true, true
	s.ChangeSpace("TST", func(space *Space) { space.Users = []string{w.users["eve"].ID} })
	s.Add(Content{Space: "TST", Title: "p"})
	source := s.open(t, w.settings(nil))
	found, _ := walk(t, source)
	groups, _ := allGroups(t, source)
	if got := addressesOf(readersOf(t, source, found["TST/p"])[found["TST/p"].ID], groups); got != "ada bo cy di eve reader" {
		t.Errorf("the page is read by %q", got)
	}
	s.NoRemote = true
	source = s.open(t, w.settings(nil))
	lister, _ := source.(connectors.PermissionLister)
	if found, err := lister.Readers(t.Context(), []connectors.Item{found["TST/p"]}); !connectors.IsNeedsAuth(err) {
		t.Errorf("without a way to tell: %v, %v", found, err)
	}
	checker, ok := source.(connectors.TierChecker)
	if !ok {
		t.Fatal("the source shows no tiers")
	}
	tiers, err := checker.CheckTiers(t.Context())
	if err != nil || len(tiers) != 2 || tiers[0].Err != nil || tiers[1].Name != connectors.TierPermissions || !connectors.IsNeedsAuth(tiers[1].Err) {
		t.Errorf("the tiers are %v, %v", tiers, err)
	}
	if err := source.Check(t.Context()); !connectors.IsNeedsAuth(err) {
		t.Errorf("check: %v", err)
	}
}

// Unknown readers are an error or nobody, never more people.
func TestReadersFailClosed(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		w := newRestrictedSite(t, s)
		home := s.Add(Content{Space: "TST", Title: "home", Groups: []string{w.ids["eng"]}})
		s.Add(Content{Parent: home, Title: "p"})
		all := s.open(t, w.settings(nil))
		found, _ := walk(t, all)
		item := found["TST/home/p"]
		for _, status := range []int{403, 404, 429, 500} {
			for _, part := range []string{"/restriction/", "/permissions"} {
				source := s.open(t, w.settings(nil))
				s.NoRemote = true
				s.Fail(func(r *http.Request) *Fault {
					if strings.Contains(r.URL.Path, part) {
						return &Fault{Status: status, Body: "{}"}
					}
					return nil
				})
				lister, _ := source.(connectors.PermissionLister)
				// The walk reported the page's own restriction, not the inherited one.
				readers, err := lister.Readers(t.Context(), []connectors.Item{item})
				s.Fail(nil)
				if err == nil && (len(readers[item.ID].Principals) > 0 || readers[item.ID].Everyone) && part == "/permissions" {
					t.Errorf("%d at %s: %+v", status, part, readers)
				}
				if err == nil && part == "/restriction/" {
					for _, p := range readers[item.ID].Principals {
						if p == "group:"+w.ids["staff"] || readers[item.ID].Everyone {
							t.Errorf("%d at %s: %+v", status, part, readers)
						}
					}
				}
			}
		}
	})
}

func TestUnknownCursorsOfGroupsAreHarmless(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		w := newRestrictedSite(t, s)
		source := s.open(t, w.settings(nil))
		lister, _ := source.(connectors.GroupLister)
		for _, cursor := range []string{"x", "{", `{"n":-1}`, `{"n":99999}`, `{"d":true,"a":"zzz"}`, "\x00", `{"n":"x"}`} {
			page, err := lister.Groups(t.Context(), cursor)
			if err == nil && len(page.Groups) > 0 {
				t.Errorf("%q gave %d groups", cursor, len(page.Groups))
			}
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := lister.Groups(canceled, ""); err == nil {
			t.Error("a canceled call gave groups")
		}
	})
}
