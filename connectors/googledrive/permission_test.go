package googledrive_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	. "github.com/magpie-search/magpie/internal/testkit/driveserver"
)

// readersOf returns the readers of an item.
func readersOf(t testing.TB, source connectors.Source, item connectors.Item) connectors.Readers {
	t.Helper()
	lister, ok := source.(connectors.PermissionLister)
	if !ok {
		t.Fatal("the source knows no permissions")
	}
	readers, err := lister.Readers(t.Context(), []connectors.Item{item})
	if err != nil {
		t.Fatal(err)
	}
	return readers[item.ID]
}

// groupsOf returns the members of all groups, and the warnings.
func groupsOf(t testing.TB, source connectors.Source) (members map[string][]string, warnings []string) {
	t.Helper()
	lister, ok := source.(connectors.GroupLister)
	if !ok {
		t.Fatal("the source knows no groups")
	}
	members = map[string][]string{}
	for cursor := ""; ; {
		page, err := lister.Groups(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range page.Groups {
			members[g.Principal] = g.Members
		}
		warnings = append(warnings, page.Warnings...)
		if page.Done {
			return members, warnings
		}
		cursor = page.Next
	}
}

func TestReadersOfFiles(t *testing.T) {
	t.Parallel()
	const eve, staff = "eve@example.com", "staff@example.com"
	owner := "user:" + ada
	for name, c := range map[string]struct {
		permissions []Permission
		links       bool
		want        connectors.Readers
	}{
		"nobody else":                  {nil, false, connectors.Readers{Principals: []string{owner}}},
		"a person":                     {[]Permission{{Type: "user", Email: "Bob@Example.com"}}, false, connectors.Readers{Principals: []string{owner, "user:" + bob}}},
		"a writer":                     {[]Permission{{Type: "user", Role: "writer", Email: bob}}, false, connectors.Readers{Principals: []string{owner, "user:" + bob}}},
		"an external person":           {[]Permission{{Type: "user", Email: "kim@other.org"}}, false, connectors.Readers{Principals: []string{owner, "user:kim@other.org"}}},
		"a group":                      {[]Permission{{Type: "group", Email: staff}}, false, connectors.Readers{Principals: []string{"group:" + staff, owner}}},
		"groups of the same name":      {[]Permission{{Type: "group", Email: staff}, {Type: "group", Email: "staff@other.org"}}, false, connectors.Readers{Principals: []string{"group:" + staff, "group:staff@other.org", owner}}},
		"a domain":                     {[]Permission{{Type: "domain", Domain: "Example.com", Discoverable: true}}, false, connectors.Readers{Principals: []string{"domain:example.com", owner}}},
		"a domain with the link":       {[]Permission{{Type: "domain", Domain: "example.com"}}, false, connectors.Readers{Principals: []string{owner}}},
		"links of a domain are public": {[]Permission{{Type: "domain", Domain: "example.com"}}, true, connectors.Readers{Principals: []string{"domain:example.com", owner}}},
		"everyone":                     {[]Permission{{Type: "anyone", Discoverable: true}}, false, connectors.Readers{Everyone: true, Principals: []string{owner}}},
		"everyone with the link":       {[]Permission{{Type: "anyone"}}, false, connectors.Readers{Principals: []string{owner}}},
		"links are public":             {[]Permission{{Type: "anyone"}}, true, connectors.Readers{Everyone: true, Principals: []string{owner}}},
		"expired":                      {[]Permission{{Type: "user", Email: bob, Expires: time.Now().Add(-time.Hour)}}, false, connectors.Readers{Principals: []string{owner}}},
		"not expired":                  {[]Permission{{Type: "user", Email: bob, Expires: time.Now().Add(time.Hour)}}, false, connectors.Readers{Principals: []string{owner, "user:" + bob}}},
		"a deleted person":             {[]Permission{{Type: "user", Email: eve, Deleted: true}}, false, connectors.Readers{Principals: []string{owner}}},
		"a published copy":             {[]Permission{{Type: "anyone", View: "published", Discoverable: true}}, true, connectors.Readers{Principals: []string{owner}}},
		"an unknown role":              {[]Permission{{Type: "user", Role: "admirer", Email: bob}}, false, connectors.Readers{Principals: []string{owner}}},
		"a hidden address":             {[]Permission{{Type: "user"}}, false, connectors.Readers{Principals: []string{owner}}},
		"everyone with an expired end": {[]Permission{{Type: "anyone", Discoverable: true, Expires: time.Now().Add(-time.Hour)}}, true, connectors.Readers{Principals: []string{owner}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			folder := p.Add(File{Name: "Folder", Owner: ada, MimeType: Folder, Permissions: c.permissions})
			p.Add(File{Name: "inherits.md", Owner: ada, Parent: folder})
			p.Add(File{Name: "nested.md", Owner: ada, Parent: p.Add(File{Name: "Inner", Owner: ada, MimeType: Folder, Parent: folder})})
			p.Add(File{Name: "itself.md", Owner: ada, Permissions: c.permissions})
			source := open(t, p.settings(map[string]any{"include_permissions": true, "treatLinkAsPublic": c.links}))
			items, _ := walk(t, source)
			for _, path := range []string{"My Drive/itself.md", "My Drive/Folder/inherits.md", "My Drive/Folder/Inner/nested.md"} {
				got := readersOf(t, source, items[path])
				if got.Everyone != c.want.Everyone || !slices.Equal(got.Principals, c.want.Principals) {
					t.Errorf("%s: %+v, not %+v", path, got, c.want)
				}
				// The ledger has fewer facts.
				bare := connectors.Item{ID: items[path].ID, Path: path, Container: items[path].Container, Size: -1}
				if again := readersOf(t, open(t, p.settings(map[string]any{"include_permissions": true, "treatLinkAsPublic": c.links})), bare); again.Everyone != got.Everyone || !slices.Equal(again.Principals, got.Principals) {
					t.Errorf("%s in another source: %+v, not %+v", path, again, got)
				}
			}
		})
	}
}

func TestReadersOfSharedDrives(t *testing.T) {
	t.Parallel()
	const staff, inner, everybody = "staff@example.com", "inner@example.com", "all@example.com"
	p := newPlace(t)
	p.AddGroup(inner, Member{Email: "kim@example.com"}, Member{Email: "gone@example.com", Suspended: true})
	p.AddGroup(staff, Member{Email: bob}, Member{Email: inner}, Member{Email: "guest@other.org"})
	p.AddGroup(everybody, Member{Email: "*"})
	p.ChangeDrive(p.drive, "Team", Permission{Type: "user", Role: "organizer", Email: ada}, Permission{Type: "group", Email: staff})
	p.Add(File{Name: "plain.md", Parent: p.drive})
	p.Add(File{Name: "extra.md", Parent: p.drive, Permissions: []Permission{{Type: "user", Email: "eve@example.com"}}})
	folder := p.Add(File{Name: "Shared", Parent: p.drive, MimeType: Folder, Permissions: []Permission{{Type: "group", Email: everybody}}})
	p.Add(File{Name: "below.md", Parent: p.Add(File{Name: "Deep", Parent: folder, MimeType: Folder})})
	limited := p.Add(File{Name: "Limited", Parent: p.drive, MimeType: Folder, NoInheritance: true, Permissions: []Permission{{Type: "user", Role: "writer", Email: ada}}})
	p.Add(File{Name: "few.md", Parent: limited})
	for n := range 50 {
		p.Put(t, "many/"+string(rune('a'+n%26))+strings.Repeat("x", n)+".md", []byte("x"))
	}
	source := open(t, p.settings(map[string]any{"include_permissions": true}))
	items, _ := walk(t, source)
	members := []string{"group:drive:" + p.drive}
	for path, want := range map[string][]string{
		"Team/plain.md": members, "Team/many/a.md": members,
		"Team/extra.md":             {"group:" + staff, "user:" + ada, "user:eve@example.com"},
		"Team/Shared/Deep/below.md": {"group:" + everybody, "group:" + staff, "user:" + ada},
		"Team/Limited/few.md":       {"user:" + ada},
	} {
		if got := readersOf(t, source, items[path]); got.Everyone || !slices.Equal(got.Principals, want) {
			t.Errorf("%s: %+v, not %q", path, got, want)
		}
	}
	for _, item := range items {
		readersOf(t, source, item)
	}
	if n := p.Requests("/permissions"); n > 4 {
		t.Errorf("%d requests for the permissions of %d files", n, len(items))
	}
	groups, warnings := groupsOf(t, source)
	want := map[string][]string{
		members[0]:           {"group:" + staff, "user:" + ada},
		"group:" + staff:     {"user:" + bob, "user:guest@other.org", "user:kim@example.com"},
		"group:" + everybody: {"user:" + ada, "user:" + bob},
	}
	if !maps.EqualFunc(groups, want, slices.Equal) || len(warnings) > 0 {
		t.Errorf("the groups are %v, not %v; warnings %q", groups, want, warnings)
	}
	// A new member needs no walk.
	p.ChangeDrive(p.drive, "Team", Permission{Type: "user", Role: "organizer", Email: ada}, Permission{Type: "user", Email: "new@example.com"})
	if groups, _ := groupsOf(t, source); !slices.Equal(groups[members[0]], []string{"user:" + ada, "user:new@example.com"}) {
		t.Errorf("with a new member: %v", groups[members[0]])
	}
}

func TestUnknownReadersHideFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.Add(File{Name: "theirs.md", Owner: "kim@other.org", Permissions: []Permission{{Type: "user", Email: ada}}})
	p.Add(File{Name: "mine.md", Owner: ada, Permissions: []Permission{{Type: "group", Email: "staff@example.com"}, {Type: "group", Email: "unknown@other.org"}}})
	p.AddGroup("staff@example.com", Member{Email: bob})
	p.Grant("files-only", ada, "https://www.googleapis.com/auth/drive.readonly")
	s := p.settings(map[string]any{"include_permissions": true, "includeSharedWithMe": true})
	source := open(t, s)
	items, _ := walk(t, source)
	if got := readersOf(t, source, items["Shared with me/theirs.md"]); got.Everyone || len(got.Principals) > 0 {
		t.Errorf("a file whose readers are unknown: %+v", got)
	}
	readersOf(t, source, items["My Drive/mine.md"])
	groups, warnings := groupsOf(t, source)
	if text := strings.Join(warnings, "\n"); !strings.Contains(text, "may not share them") || !strings.Contains(text, "unknown@other.org") {
		t.Errorf("warnings: %q", warnings)
	}
	if len(groups["group:staff@example.com"]) != 1 || len(groups["group:unknown@other.org"]) != 0 {
		t.Errorf("groups: %v", groups)
	}
	// Without the right to groups they are empty, with a warning.
	p.Admins = nil
	groups, warnings = groupsOf(t, open(t, s))
	if len(groups["group:staff@example.com"]) != 0 || len(warnings) != 2 || !strings.Contains(warnings[0], "Groups, Read") {
		t.Errorf("without the right: %v, %q", groups, warnings)
	}
	s.Token = fixedToken("files-only")
	groups, warnings = groupsOf(t, open(t, s))
	if len(groups["group:staff@example.com"]) != 0 || len(warnings) != 1 || !strings.Contains(warnings[0], "admin.directory.group.member.readonly") {
		t.Errorf("without the scope: %v, %q", groups, warnings)
	}
}
