package gitlab_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/testkit/gitlabserver"
)

// The people of the truth table.
const (
	reader = iota + 1
	owner
	reporter
	guest
	planner
	externalGuest
	externalReporter
	outsider
	externalOutsider
	inherited
	invitedAsGuest
	invitedAbove
	blocked
	expired
	unconfirmed
	bot
	minimal
)

// newOrganisation returns a server with people, and a private project acme/team/docs
// with one item of each sort.
func newOrganisation(t testing.TB) site {
	t.Helper()
	s := site{gitlabserver.New()}
	t.Cleanup(s.Close)
	for id, name := range map[int64]string{
		owner: "owner", reporter: "reporter", guest: "guest", planner: "planner", outsider: "outsider", inherited: "inherited", invitedAsGuest: "invitedguest", invitedAbove: "invitedabove",
		minimal: "minimal", expired: "expired",
	} {
		s.AddUser(gitlabserver.User{ID: id, Name: name, Email: name + "@example.com"})
	}
	for id, name := range map[int64]string{externalGuest: "xguest", externalReporter: "xreporter", externalOutsider: "xoutsider"} {
		s.AddUser(gitlabserver.User{ID: id, Name: name, Email: name + "@example.com", External: true})
	}
	s.AddUser(gitlabserver.User{ID: blocked, Name: "blocked", Email: "blocked@example.com", State: "blocked"})
	s.AddUser(gitlabserver.User{ID: unconfirmed, Name: "unconfirmed", Email: "owner@example.org", Unconfirmed: true})
	s.AddUser(gitlabserver.User{ID: bot, Name: "bot", Email: "bot@example.com", Bot: true})
	s.ChangeUser(reader, func(u *gitlabserver.User) { u.Admin = true })
	member := func(user int64, level int) gitlabserver.Membership {
		return gitlabserver.Membership{User: user, Level: level}
	}
	// The group acme/team exists twice by name, and has other members.
	s.AddGroup(gitlabserver.Group{Path: "acme", Members: []gitlabserver.Membership{member(inherited, 30)}, Shares: []gitlabserver.Share{{Group: "partners", Level: 20}}})
	s.AddGroup(gitlabserver.Group{Path: "umbrella/team", Members: []gitlabserver.Membership{member(outsider, 50)}})
	s.AddGroup(gitlabserver.Group{Path: "partners", Members: []gitlabserver.Membership{member(invitedAbove, 50)}})
	s.AddGroup(gitlabserver.Group{Path: "visitors", Members: []gitlabserver.Membership{member(invitedAsGuest, 50)}})
	s.Add(&gitlabserver.Project{
		ID: 7, Path: "acme/team/docs", Files: map[string][]byte{"a.md": []byte("a file")}, Pages: map[string]string{"home": "a page"},
		Issues: []gitlabserver.Thread{
			{Title: "open", Author: outsider},
			{Title: "confidential", Confidential: true, Author: guest, Assignees: []int64{outsider, externalGuest, externalOutsider, blocked}},
		},
		Merges:   []gitlabserver.Thread{{Title: "merge", Author: guest}},
		Snippets: map[int64]string{1: "private", 2: "internal", 3: "public"},
		SnippetAccess: map[int64]gitlabserver.SnippetAccess{
			1: {Visibility: "private", Author: outsider}, 2: {Visibility: "internal", Author: externalOutsider}, 3: {Visibility: "public", Author: owner},
		},
		Members: []gitlabserver.Membership{
			member(owner, 50), member(reporter, 20), member(guest, 10), member(planner, 15), member(externalGuest, 10), member(externalReporter, 20),
			member(blocked, 50), member(unconfirmed, 50), member(bot, 50), member(minimal, 5), {User: expired, Level: 50, Expires: "2020-01-01"},
		},
		Shares: []gitlabserver.Share{{Group: "visitors", Level: 10}},
	})
	return s
}

// readersOf returns the addresses of the readers of each item, sorted, by path, and the
// warnings. "everyone" stands for people without an account.
func readersOf(t testing.TB, source connectors.Source) (readers map[string]string, warnings []string) {
	t.Helper()
	lister, ok := source.(connectors.GroupLister)
	if !ok {
		t.Fatal("the source is no GroupLister")
	}
	items, _, _ := walk(t, source)
	listed, err := source.(connectors.PermissionLister).Readers(t.Context(), slices.Collect(maps.Values(items)))
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string][]string{}
	for cursor := ""; ; {
		page, err := lister.Groups(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range page.Groups {
			if _, twice := groups[g.Principal]; twice {
				t.Errorf("the group %s is listed twice", g.Principal)
			}
			groups[g.Principal] = g.Members
		}
		if warnings = append(warnings, page.Warnings...); page.Done {
			break
		}
		cursor = page.Next
	}
	readers = map[string]string{}
	for path, item := range items {
		found := map[string]bool{}
		for _, principal := range listed[item.ID].Principals {
			members, exists := groups[principal]
			if !exists {
				t.Errorf("%s has the reader %s, which is not listed", path, principal)
			}
			for _, m := range members {
				found[strings.TrimSuffix(strings.TrimPrefix(m, "user:"), "@example.com")] = true
			}
		}
		if listed[item.ID].Everyone {
			found = map[string]bool{"everyone": true}
		}
		readers[strings.TrimPrefix(path, "acme/team/docs")] = strings.Join(slices.Sorted(maps.Keys(found)), " ")
	}
	return readers, warnings
}

// TestTruthTableOfReaders has who may read what, as the policies of GitLab 17 and 18
// have it: guests see no code of private projects, planners see confidential issues,
// external people see internal projects as members only, an invited group has at most
// the role of the invitation.
func TestTruthTableOfReaders(t *testing.T) {
	t.Parallel()
	const (
		reporters = "inherited invitedabove owner reporter xreporter"
		planners  = "inherited invitedabove owner planner reporter xreporter"
		members   = "guest inherited invitedabove invitedguest owner planner reporter xguest xreporter"
		// All people of the server, without external ones, and external members by role.
		inside          = "expired guest inherited invitedabove invitedguest minimal outsider owner planner reader reporter"
		insideAndGuests = "expired guest inherited invitedabove invitedguest minimal outsider owner planner reader reporter xguest xreporter"
		insideAndCode   = "expired guest inherited invitedabove invitedguest minimal outsider owner planner reader reporter xreporter"
		// Members who are not external, and external reporters.
		codeOfMembers = "guest inherited invitedabove invitedguest owner planner reporter xreporter"
		everyone      = "everyone"
	)
	plus := func(list string, more ...string) string {
		all := append(strings.Fields(list), more...)
		slices.Sort(all)
		return strings.Join(slices.Compact(all), " ")
	}
	only := func(feature, access string) map[string]string { return map[string]string{feature: access} }
	for _, c := range []struct {
		visibility                                                                        string
		access                                                                            map[string]string
		file, issue, confidential, merge, wiki, snippetPrivate, snippetInside, snippetAny string
	}{
		{"private", nil, reporters, members, plus(planners, "guest", "xguest"), reporters, members, members, members, members},
		{"", nil, reporters, members, plus(planners, "guest", "xguest"), reporters, members, members, members, members},
		{"private", only("issues", "private"), reporters, members, plus(planners, "guest", "xguest"), reporters, members, members, members, members},
		{
			"internal", nil, insideAndCode, insideAndGuests, plus(planners, "guest", "xguest", "outsider"), insideAndCode, insideAndGuests,
			plus(members, "outsider"), insideAndGuests, insideAndGuests,
		},
		{
			"internal", map[string]string{"repository": "private", "issues": "private", "merge_requests": "private", "wiki": "private", "snippets": "private"},
			codeOfMembers, members, plus(planners, "guest", "xguest"), reporters, members, members, members, members,
		},
		{
			"public", nil, everyone, everyone, plus(planners, "guest", "xguest", "outsider", "xoutsider"), everyone, everyone,
			plus(members, "outsider"), plus(insideAndGuests, "xoutsider"), everyone,
		},
		{
			"public", map[string]string{"repository": "private", "issues": "private", "merge_requests": "private", "wiki": "private", "snippets": "private"},
			members, members, plus(planners, "guest", "xguest"), reporters, members, members, members, members,
		},
		{"public", only("merge_requests", "private"), everyone, everyone, plus(planners, "guest", "xguest", "outsider", "xoutsider"), reporters, everyone, plus(members, "outsider"), plus(insideAndGuests, "xoutsider"), everyone},
		{"public", only("issues", "unheard-of"), everyone, members, plus(planners, "guest", "xguest"), everyone, everyone, plus(members, "outsider"), plus(insideAndGuests, "xoutsider"), everyone},
		{"unheard-of", nil, reporters, members, plus(planners, "guest", "xguest"), reporters, members, members, members, members},
		{"public", only("issues", "disabled"), everyone, "", "", everyone, everyone, plus(members, "outsider"), plus(insideAndGuests, "xoutsider"), everyone},
	} {
		t.Run(fmt.Sprint(c.visibility, c.access), func(t *testing.T) {
			t.Parallel()
			s := newOrganisation(t)
			s.Change(7, func(p *gitlabserver.Project) { p.Visibility, p.Access = c.visibility, c.access })
			source := open(t, s.settings(map[string]any{"include_permissions": true, "includeSnippets": true}))
			got, warnings := readersOf(t, source)
			for path, want := range map[string]string{
				"/a.md": c.file, "#1": c.issue, "#2": c.confidential, "!1": c.merge, ".wiki/home": c.wiki,
				"/snippets/1/snippet.sh": c.snippetPrivate, "/snippets/2/snippet.sh": c.snippetInside, "/snippets/3/snippet.sh": c.snippetAny,
			} {
				if got[path] != want {
					t.Errorf("%s is read by\n%s, want\n%s", path, got[path], want)
				}
			}
			// The bot, and the person without a verified address.
			if len(warnings) != 1 || !strings.Contains(warnings[0], "of 2 of 11 members") {
				t.Errorf("the warnings are %q", warnings)
			}
		})
	}
}

// Without the rights of an administrator, people are found by their public addresses,
// an internal project by its members, and the warning tells how many are missing.
func TestPeopleAreFoundByPublicAddresses(t *testing.T) {
	t.Parallel()
	s := newOrganisation(t)
	s.ChangeUser(reader, func(u *gitlabserver.User) { u.Admin = false })
	for _, id := range []int64{reporter, guest, outsider} {
		s.ChangeUser(id, func(u *gitlabserver.User) { u.PublicEmail = u.Email })
	}
	s.Change(7, func(p *gitlabserver.Project) { p.Visibility = "internal" })
	settings := s.settings(map[string]any{"include_permissions": true})
	got, warnings := readersOf(t, open(t, settings))
	if got["/a.md"] != "reporter" || got["#1"] != "guest reporter" || got["#2"] != "guest reporter" {
		t.Errorf("the readers are %q", got)
	}
	text := strings.Join(warnings, "\n")
	if !strings.Contains(text, "administrators only who may see internal projects") || !strings.Contains(text, "of 11 members") {
		t.Errorf("the warnings are %q", warnings)
	}
	// A second listing looks the people up again, since they may have changed.
	s.ChangeUser(guest, func(u *gitlabserver.User) { u.PublicEmail = "" })
	s.ChangeUser(planner, func(u *gitlabserver.User) { u.PublicEmail = u.Email })
	if got, _ = readersOf(t, open(t, settings)); got["#1"] != "planner reporter" {
		t.Errorf("the readers of the issue are %q, want the planner in place of the guest", got["#1"])
	}
}

// A listing that a rate limit interrupts goes on with the people that it knows.
func TestAListingOfPeopleGoesOn(t *testing.T) {
	t.Parallel()
	s := newOrganisation(t)
	s.ChangeUser(reader, func(u *gitlabserver.User) { u.Admin = false })
	settings := s.settings(map[string]any{"include_permissions": true})
	asked := map[string]int{}
	limit := 4
	s.Fail(fail(func(path string) int {
		if !strings.Contains(path, "/users/") {
			return 0
		}
		if limit--; limit < 0 {
			return 429
		}
		asked[path]++
		return 0
	}))
	for n := 0; ; n++ {
		source, ok := open(t, settings).(connectors.GroupLister)
		if !ok || n > 10 {
			t.Fatal("the listing does not end")
		}
		_, err := source.Groups(t.Context(), "")
		if err == nil {
			break
		}
		if _, retryable := connectors.RetryAfterOf(err); !retryable {
			t.Fatal(err)
		}
		limit = 4
	}
	for path, times := range asked {
		if times > 1 {
			t.Errorf("%s was requested %d times", path, times)
		}
	}
}

// fail returns a function that fails requests with the status of their path, 0 for none.
func fail(status func(path string) int) func(r *http.Request) *gitlabserver.Fault {
	return func(r *http.Request) *gitlabserver.Fault {
		if code := status(r.URL.Path); code > 0 {
			return &gitlabserver.Fault{Status: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"message":"refused"}`}
		}
		return nil
	}
}

func TestUnreadableMembersHideTheProject(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(s site)
		want   string
	}{
		"Forbidden": {func(s site) {
			s.Fail(fail(func(path string) int { return map[bool]int{true: 403}[strings.Contains(path, "/members/")] }))
		}, "acme/team/docs"},
		"Old": {func(s site) { s.Version = "13.9.3-ee" }, "13.11"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newOrganisation(t)
			c.change(s)
			got, warnings := readersOf(t, open(t, s.settings(map[string]any{"include_permissions": true})))
			if got["/a.md"] != "" || got["#1"] != "" || got["#2"] != "" || !strings.Contains(strings.Join(warnings, "\n"), c.want) {
				t.Errorf("the readers are %q, with the warnings %q", got, warnings)
			}
		})
	}
}

// Another visibility is noticed by the feed, and another role by the listing of groups.
func TestChangedPermissionsAreNoticed(t *testing.T) {
	t.Parallel()
	s := newOrganisation(t)
	settings := s.settings(map[string]any{"include_permissions": true})
	feeder, token := newFeed(t, settings)
	s.Change(7, func(p *gitlabserver.Project) { p.Members[1].Level = 10 })
	if page := changes(t, feeder, token); page.Expired {
		t.Error("a changed role needs a walk")
	}
	if got, _ := readersOf(t, open(t, settings)); strings.Contains(got["/a.md"], " reporter") {
		t.Errorf("the file is read by %s after the reporter became a guest", got["/a.md"])
	}
	s.Change(7, func(p *gitlabserver.Project) { p.Visibility = "internal" })
	page := changes(t, feeder, token)
	slices.Sort(page.Permissions)
	if want := "7:f:a.md 7:i:1 7:i:2 7:m:1 7:w:home"; page.Expired || strings.Join(page.Permissions, " ") != want {
		t.Errorf("the changes after another visibility are %+v, want the readers of %s", page, want)
	}
	if page = changes(t, feeder, page.Next); len(page.Permissions) > 0 {
		t.Errorf("the readers change again: %q", page.Permissions)
	}
}

// The readers of items that another process listed are looked up.
func TestReadersOfUnlistedItemsAreLookedUp(t *testing.T) {
	t.Parallel()
	s := newOrganisation(t)
	settings := s.settings(map[string]any{"include_permissions": true, "includeSnippets": true})
	lister, ok := open(t, settings).(connectors.PermissionLister)
	if !ok {
		t.Fatal("the source is no PermissionLister")
	}
	var items []connectors.Item
	for _, id := range []string{"7:i:1", "7:i:2", "7:i:99", "7:s:1", "7:s:99", "8:i:1"} {
		items = append(items, connectors.Item{ID: id})
	}
	readers, err := lister.Readers(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"7:i:1": "group:7:10", "7:i:2": "group:7:15 group:7:i:4 group:7:i:6 group:7:i:8 group:7:i:9 group:7:i:13", "7:i:99": "", "7:s:1": "group:7:10 group:7:s:8", "7:s:99": "", "8:i:1": "",
	} {
		if got := strings.Join(readers[id].Principals, " "); got != want || readers[id].Everyone {
			t.Errorf("the readers of %s are %q, want %q", id, got, want)
		}
	}
}
