package jira_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	. "github.com/magpie-search/magpie/internal/testkit/jiraserver"
)

// A restrictedSite has people and groups. The names of people are those of their
// addresses.
type restrictedSite struct {
	*site
	users  map[string]User
	groups map[string]string // ids
}

func newRestrictedSite(t *testing.T, s *site) *restrictedSite {
	t.Helper()
	w := &restrictedSite{site: s, users: map[string]User{}, groups: map[string]string{}}
	for _, name := range []string{"ada", "bo", "cy", "di", "eve"} {
		w.users[name] = s.AddUser(User{Name: name, Email: strings.ToUpper(name[:1]) + name[1:] + "@Example.com"})
	}
	w.users["hidden"] = s.AddUser(User{Name: "hidden", Email: "hidden@example.com", Hidden: true})
	w.users["guest"] = s.AddUser(User{Name: "guest", Email: "guest@partner.org"})
	w.users["left"] = s.AddUser(User{Name: "left", Email: "left@example.com", Inactive: true})
	// Data Center has no accounts of apps.
	w.users["app"] = s.AddUser(User{Name: "app", Email: "app@example.com", App: s.cloud, Inactive: !s.cloud})
	w.groups["staff"] = s.AddGroup("Staff", w.id("ada"), w.id("bo"), w.id("cy"), w.id("left"), w.id("hidden"))
	w.groups["eng"] = s.AddGroup("eng/core", w.id("ada"), w.id("bo"))
	w.groups["outside"] = s.AddGroup("outside", w.id("eve"))
	s.SetApplication("jira-software", w.groups["staff"])
	s.SetApplication("jira-servicedesk", w.groups["outside"])
	return w
}

func (w *restrictedSite) id(name string) string { return w.users[name].ID }

func user(id string) Holder     { return Holder{Type: "user", Parameter: id} }
func group(id string) Holder    { return Holder{Type: "group", Parameter: id} }
func holder(kind string) Holder { return Holder{Type: kind} }

func (w *restrictedSite) settings() connectors.Settings {
	made := w.site.settings(map[string]any{"include_permissions": true, "includeAttachments": true})
	made.State = &connectortest.State{}
	return made
}

// readersOf returns the readers of all items, by path: "everyone", or the names of
// the people, with the groups' members.
func (w *restrictedSite) readersOf(t *testing.T, settings connectors.Settings) (map[string]string, []string) {
	t.Helper()
	source := w.open(t, settings)
	items, warnings := walk(t, source)
	lister, ok := source.(connectors.PermissionLister)
	if !ok {
		t.Fatal("the source is no PermissionLister")
	}
	readers, err := lister.Readers(t.Context(), slices.Collect(maps.Values(items)))
	if err != nil {
		t.Fatal(err)
	}
	directory, ok := source.(connectors.GroupLister)
	if !ok {
		t.Fatal("the source is no GroupLister")
	}
	members := map[string][]string{}
	for cursor := ""; ; {
		page, err := directory.Groups(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range page.Groups {
			members[g.Principal] = g.Members
		}
		warnings = append(warnings, page.Warnings...)
		if page.Done {
			break
		}
		cursor = page.Next
	}
	named := map[string]string{}
	for path, item := range items {
		r := readers[item.ID]
		var people []string
		for _, principal := range r.Principals {
			if strings.HasPrefix(principal, "group:") {
				people = append(people, members[principal]...)
			} else {
				people = append(people, principal)
			}
		}
		for i, person := range people {
			people[i] = strings.TrimSuffix(strings.TrimPrefix(person, "user:"), "@example.com")
		}
		slices.Sort(people)
		if named[path] = strings.Join(slices.Compact(people), " "); r.Everyone {
			named[path] = "everyone"
		}
	}
	return named, warnings
}

func TestWhoMayBrowse(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		w := newRestrictedSite(t, s)
		field := map[string]any{"customfield_10010": []any{map[string]any{"accountId": w.id("eve"), "key": w.id("eve")}}, "customfield_10011": map[string]any{"groupId": w.groups["eng"], "name": "eng/core"}}
		for name, c := range map[string]struct {
			browse []Holder
			want   string
		}{
			"USER":     {[]Holder{user(w.id("ada")), user(w.id("eve"))}, "ada eve"},
			"GROUPS":   {[]Holder{group(w.groups["eng"]), group(w.groups["outside"])}, "ada bo eve"},
			"ROLE":     {[]Holder{{Type: "projectRole", Parameter: "10002"}}, "ada bo di"},
			"LEAD":     {[]Holder{holder("projectLead")}, "cy"},
			"REPORTER": {[]Holder{holder("reporter"), holder("assignee")}, "di eve"},
			"ACCOUNT":  {[]Holder{holder("applicationRole")}, "ada bo cy eve"},
			"DESK":     {[]Holder{{Type: "applicationRole", Parameter: "jira-servicedesk"}}, "eve"},
			"PUBLIC":   {[]Holder{holder("anyone")}, "everyone"},
			"CLOSED":   {[]Holder{holder("anyone")}, "ada bo cy eve"},
			"FIELDS":   {[]Holder{{Type: "userCustomField", Parameter: "customfield_10010"}, {Type: "groupCustomField", Parameter: "customfield_10011"}}, "ada bo eve"},
			"NOBODY":   {nil, ""},
			"PORTAL":   {[]Holder{holder("sd.customer.portal.only")}, ""},
			"LEFT":     {[]Holder{user(w.id("left")), user(w.id("app")), user("deleted-id"), group("no-such-group")}, ""},
			"GUEST":    {[]Holder{user(w.id("guest"))}, "guest@partner.org"},
			"SAMEROLE": {[]Holder{{Type: "projectRole", Parameter: "10002"}}, "cy guest@partner.org"},
			"HIDDEN":   {[]Holder{user(w.id("hidden")), user(w.id("ada"))}, "ada"},
		} {
			members := []Holder{group(w.groups["eng"]), user(w.id("di"))}
			if name == "SAMEROLE" { // the role of another project has the same name and number
				members = []Holder{user(w.id("cy")), user(w.id("guest"))}
			}
			s.AddProject(Project{Key: name, Lead: w.id("cy"), Browse: c.browse, Public: name == "PUBLIC", Roles: map[string][]Holder{"10002": members}})
			s.Add(Issue{Project: name, Summary: name, Reporter: w.id("di"), Assignee: w.id("eve"), Fields: field, Files: []File{{Name: "f.txt", Data: []byte("x")}}})
			got, _ := w.readersOf(t, w.settings())
			for _, path := range []string{name + "/" + name + "-1", name + "/" + name + "-1/f.txt"} {
				if got[path] != c.want {
					t.Errorf("%s: readers %q, want %q", path, got[path], c.want)
				}
			}
		}
		// A site that shows visitors nothing has no public project.
		s.NoAnonymous = true
		got, warnings := w.readersOf(t, w.settings())
		if got["PUBLIC/PUBLIC-1"] != "ada bo cy eve" {
			t.Errorf("the public project of a closed site: %q", got["PUBLIC/PUBLIC-1"])
		}
		if !slices.ContainsFunc(warnings, func(text string) bool { return strings.Contains(text, "hides the mail addresses") }) ||
			!slices.ContainsFunc(warnings, func(text string) bool {
				return strings.Contains(text, "does not name anybody who may browse the project NOBODY")
			}) {
			t.Errorf("the warnings are %q", warnings)
		}
	})
}

func TestSecurityLevelsRestrict(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		w := newRestrictedSite(t, s)
		s.ChangeProject("TST", func(p *Project) {
			p.Browse = []Holder{group(w.groups["staff"])}
			p.Roles = map[string][]Holder{"10002": {user(w.id("bo"))}}
			p.Levels = map[string][]Holder{
				"7": {group(w.groups["eng"]), user(w.id("eve"))}, "8": {holder("reporter")}, "9": {{Type: "projectRole", Parameter: "10002"}}, "10": nil,
			}
		})
		want := map[string]string{"TST/TST-1": "ada bo cy", "TST/TST-2": "ada bo", "TST/TST-3": "cy", "TST/TST-4": "bo", "TST/TST-5": "", "TST/TST-6": ""}
		for _, level := range []string{"", "7", "8", "9", "10", "11"} {
			s.Add(Issue{Project: "TST", Summary: level, Level: level, Reporter: w.id("cy")})
		}
		settings := w.settings()
		got, warnings := w.readersOf(t, settings)
		if !s.cloud { // which tells nobody who belongs to a level
			for path := range want {
				if path != "TST/TST-1" {
					want[path] = ""
				}
			}
			if !slices.ContainsFunc(warnings, func(text string) bool { return strings.Contains(text, "security levels") }) {
				t.Errorf("the warnings are %q", warnings)
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("the readers are %q, want %q", got, want)
		}
		if !s.cloud {
			return
		}
		// A person who leaves a group is no longer a reader after the groups are listed.
		s.SetMembers(w.groups["staff"], w.id("ada"), w.id("cy"))
		if got, _ := w.readersOf(t, settings); got["TST/TST-2"] != "ada" {
			t.Errorf("the readers after the group changed are %q", got["TST/TST-2"])
		}
	})
}

// Without the rights to read permissions, nobody finds anything, and the connection
// test says why.
func TestUnreadablePermissionsHide(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		w := newRestrictedSite(t, s)
		s.Add(Issue{Project: "TST", Summary: "a"})
		s.AddProject(Project{Key: "ALL", Browse: []Holder{holder("applicationRole")}})
		s.Add(Issue{Project: "ALL", Summary: "b"})
		if err := w.open(t, w.settings()).Check(t.Context()); err != nil {
			t.Errorf("with all rights: %v", err)
		}
		s.NoApplications = true
		got, warnings := w.readersOf(t, w.settings())
		if got["ALL/ALL-1"] != "" || got["TST/TST-1"] != "reader" || !strings.Contains(strings.Join(warnings, " "), "who has an account") {
			t.Errorf("without the applications: %q, %q", got, warnings)
		}
		s.NoPermissions = true
		got, warnings = w.readersOf(t, w.settings())
		if got["ALL/ALL-1"]+got["TST/TST-1"] != "" || !strings.Contains(strings.Join(warnings, " "), "who may browse the project TST") {
			t.Errorf("without the rights: %q, %q", got, warnings)
		}
		if err := w.open(t, w.settings()).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), `"Administer projects"`) {
			t.Errorf("the connection test says %v", err)
		}
		if err := w.open(t, w.site.settings(nil)).Check(t.Context()); err != nil {
			t.Errorf("the connection test without permissions says %v", err)
		}
	})
}

// The connection test says for each tier which right is missing.
func TestTiersOfRights(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		w := newRestrictedSite(t, s)
		s.Add(Issue{Project: "TST", Summary: "a"})
		check := func(settings connectors.Settings, tiers int, read, permissions string) {
			t.Helper()
			got, err := w.open(t, settings).(connectors.TierChecker).CheckTiers(t.Context())
			if err != nil || len(got) != tiers {
				t.Fatalf("the tiers are %v, %v", got, err)
			}
			for i, says := range []string{read, permissions}[:tiers] {
				if got[i].Name != []connectors.TierName{connectors.TierRead, connectors.TierPermissions}[i] || (got[i].Err != nil) != (says != "") {
					t.Errorf("tier %d is %+v", i, got[i])
				}
				if says != "" && (!connectors.IsNeedsAuth(got[i].Err) || !strings.Contains(got[i].Err.Error(), says)) {
					t.Errorf("the tier %s says %v, want %q", got[i].Name, got[i].Err, says)
				}
			}
		}
		fail := func(part, body string) {
			s.Fail(func(r *http.Request) *Fault {
				if strings.Contains(r.URL.Path, part) {
					return &Fault{Status: http.StatusForbidden, Body: body}
				}
				return nil
			})
		}
		check(w.settings(), 2, "", "")
		check(w.site.settings(nil), 1, "", "")
		fail("/permissionscheme", "{}")
		check(w.settings(), 2, "", `"Administer projects"`)
		fail("/group", "{}")
		check(w.settings(), 2, "", `"Browse users and groups"`)
		fail("/group", `{"message":"Unauthorized; scope does not match"}`)
		check(w.settings(), 2, "", "manage:jira-configuration")
		fail("/search", `{"message":"Unauthorized; scope does not match"}`)
		check(w.settings(), 1, "read:jira-work", "")
		s.Fail(nil)
		settings := w.site.settings(map[string]any{"projectKeys": []any{"NONE"}})
		check(settings, 1, "give it the right to browse the project", "")
	})
}
