package sharepoint_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	. "github.com/magpie-search/magpie/internal/testkit/sharepointserver"
)

// Changes are all changes since a token.
type changes struct {
	items             map[string]connectors.Item // by path
	gone, permissions []string
	next              string
	pages             int
	warnings          []string
}

// changesSince reads changes. Each page is read twice, as after an interruption.
func changesSince(t *testing.T, source connectors.Source, token string) changes {
	t.Helper()
	c := changes{items: map[string]connectors.Item{}, next: token}
	for {
		page, err := source.(connectors.Feeder).Changes(t.Context(), c.next)
		if err != nil {
			t.Fatalf("Changes: %v", err)
		}
		again, err := source.(connectors.Feeder).Changes(t.Context(), c.next)
		if err != nil || len(again.Items) != len(page.Items) || !slices.Equal(again.Gone, page.Gone) || !slices.Equal(again.Permissions, page.Permissions) || again.More != page.More {
			t.Fatalf("the same token gives %d items, %q, %q, then %d items, %q, %q: %v", len(page.Items), page.Gone, page.Permissions, len(again.Items), again.Gone, again.Permissions, err)
		}
		if page.Expired || page.Next == "" || page.Next == c.next || len(page.Next) > connectors.MaxTokenBytes || len(page.Items) > connectors.MaxPageItems {
			t.Fatalf("the page is %+v", page)
		}
		for _, item := range page.Items {
			c.items[item.Path] = item
		}
		c.gone, c.permissions, c.warnings = append(c.gone, page.Gone...), append(c.permissions, page.Permissions...), append(c.warnings, page.Warnings...)
		c.next = page.Next
		c.pages++
		if !page.More {
			slices.Sort(c.gone)
			slices.Sort(c.permissions)
			return c
		}
	}
}

func (c changes) paths() []string { return slices.Sorted(maps.Keys(c.items)) }

// ids returns the ids of items at paths.
func (l listing) ids(t *testing.T, paths ...string) []string {
	t.Helper()
	var ids []string
	for _, path := range paths {
		item, known := l.items[path]
		if !known {
			t.Errorf("there was no item %s", path)
		}
		ids = append(ids, item.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestChangesOfALibrary(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 3} {
		t.Run(fmt.Sprint("pages of ", size), func(t *testing.T) {
			t.Parallel()
			testChangesOfALibrary(t, size)
		})
	}
}

// testChangesOfALibrary has at most size entries on a page of the platform, 0 for its
// own limit.
func testChangesOfALibrary(t *testing.T, size int) {
	t.Helper()
	o := newOrganisation(t)
	o.MaxPage = size
	for _, path := range []string{"a.md", "b.md", "old/c.md", "old/deep/d.md", "trash/e.md", "trash/deep/f.md", "g.md"} {
		o.Server.Put(o.drive, path, []byte(path))
	}
	s := o.settings(map[string]any{"include_permissions": true})
	source := open(t, s)
	token := changesSince(t, source, "")
	if len(token.items)+len(token.gone) != 0 || token.pages != 1 {
		t.Fatalf("the token of the present comes with %+v", token)
	}
	before := walk(t, source)
	c := changesSince(t, open(t, s), token.next)
	if len(c.items)+len(c.gone)+len(c.permissions) != 0 {
		t.Fatalf("without a change: %+v", c)
	}

	o.Server.Put(o.drive, "a.md", []byte("changed"))
	o.Server.Put(o.drive, "new/h.md", []byte("h"))
	o.Server.Delete(o.drive, "b.md")
	o.Move(o.drive, "old", "moved/renamed")
	o.Server.Delete(o.drive, "trash")
	o.Move(o.drive, "g.md", "new/g.md")
	c = changesSince(t, open(t, s), c.next) // in another process
	expectPaths(t, c.paths(), library+"a.md", library+"new/h.md", library+"moved/renamed/c.md", library+"moved/renamed/deep/d.md", library+"new/g.md")
	if want := before.ids(t, library+"b.md", library+"trash/e.md", library+"trash/deep/f.md"); !slices.Equal(c.gone, want) {
		t.Errorf("gone are %q, want %q", c.gone, want)
	}
	if want := before.ids(t, library+"old/c.md", library+"old/deep/d.md", library+"g.md"); !slices.Equal(c.permissions, want) {
		t.Errorf("permissions changed of %q, want %q", c.permissions, want)
	}
	after := walk(t, source)
	for path, item := range c.items {
		if !equalItems(item, after.items[path]) {
			t.Errorf("the feed has %+v, the walk %+v", item, after.items[path])
		}
	}

	// The walk wrote another record; the feed goes on from its token.
	o.Server.Delete(o.drive, "moved")
	c = changesSince(t, open(t, s), c.next)
	if want := after.ids(t, library+"moved/renamed/c.md", library+"moved/renamed/deep/d.md"); !slices.Equal(c.gone, want) || len(c.items) != 0 {
		t.Errorf("gone are %q, want %q, items %q", c.gone, want, c.paths())
	}
}

func equalItems(a, b connectors.Item) bool {
	return a.ID == b.ID && a.Path == b.Path && a.Version == b.Version && a.Container == b.Container && a.Size == b.Size && a.ModifiedAt.Equal(b.ModifiedAt) && a.Title == b.Title
}

func TestChangedPermissionsAreFed(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	for _, path := range []string{"a.md", "folder/b.md", "folder/deep/c.md", "other/d.md"} {
		o.Server.Put(o.drive, path, []byte(path))
	}
	s := o.settings(map[string]any{"include_permissions": true})
	source := open(t, s)
	token := changesSince(t, source, "").next
	l := walk(t, source)
	expect := func(what string, paths ...string) {
		t.Helper()
		c := changesSince(t, open(t, s), token)
		token = c.next
		if want := l.ids(t, paths...); !slices.Equal(c.permissions, want) {
			t.Errorf("%s: permissions changed of %q, want %q", what, c.permissions, want)
		}
	}
	o.Share(o.drive, "a.md", ToUser(o.reader))
	expect("a file", library+"a.md")
	o.Share(o.drive, "folder", ToUser(o.reader))
	expect("a folder", library+"folder/b.md", library+"folder/deep/c.md")
	o.Share(o.drive, "folder")
	expect("a folder that inherits again", library+"folder/b.md", library+"folder/deep/c.md")
	o.ShareDrive(o.drive)
	expect("the library", l.paths()...)
	expect("nothing")
}

func TestLargeChangesComeInPages(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	for n := range 700 {
		o.Server.Put(o.drive, fmt.Sprintf("many/%d/%d.md", n%7, n), []byte("x"))
	}
	s := o.settings(nil)
	source := open(t, s)
	token := changesSince(t, source, "").next
	before := walk(t, source)
	o.Move(o.drive, "many", "all")
	c := changesSince(t, open(t, s), token)
	if len(c.items) != 700 || c.pages < 2 || !strings.HasPrefix(c.paths()[0], library+"all/0/") {
		t.Fatalf("%d items in %d pages", len(c.items), c.pages)
	}
	o.Server.Delete(o.drive, "all")
	c = changesSince(t, open(t, s), c.next)
	if want := before.ids(t, before.paths()...); !slices.Equal(c.gone, want) {
		t.Errorf("%d are gone, want %d", len(c.gone), len(want))
	}
}

func TestLibrariesComeAndGo(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	contracts := o.AddLibrary(o.site, "Contracts", "Contracts")
	o.Server.Put(contracts, "deep/a.md", []byte("a"))
	s := o.settings(nil)
	source := open(t, s)
	token := changesSince(t, source, "").next
	before := walk(t, source)
	plans := o.AddLibrary(o.site, "Plans", "Plans")
	for n := range 450 {
		o.Server.Put(plans, fmt.Sprintf("2026/%d.md", n), []byte("b"))
	}
	o.RemoveLibrary(contracts)
	c := changesSince(t, open(t, s), token)
	if len(c.items) != 450 || c.items["sites/eng/Plans/2026/7.md"].ID == "" {
		t.Errorf("the new library has %d items", len(c.items))
	}
	if want := before.ids(t, before.paths()...); !slices.Equal(c.gone, want) {
		t.Errorf("gone are %q, want %q", c.gone, want)
	}
	// The record of the new library was made by the feed.
	o.Server.Delete(plans, "2026")
	if c = changesSince(t, open(t, s), c.next); len(c.gone) != 450 {
		t.Errorf("%d are gone", len(c.gone))
	}
}

func TestChangesOfPagesAndLists(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	for _, name := range []string{"Home.aspx", "Old.aspx", "Same.aspx"} {
		o.PutPage(o.site, Page{Name: name, Title: name, Text: "<p>first</p>"})
	}
	risks := o.AddList(o.site, "Risks", "genericList")
	fire := o.PutEntry(risks, "", map[string]any{"Title": "Fire"})
	flood := o.PutEntry(risks, "", map[string]any{"Title": "Flood"})
	s := o.settings(map[string]any{"includeLists": true})
	source := open(t, s)
	token := changesSince(t, source, "").next
	before := walk(t, source)
	c := changesSince(t, source, token)
	if len(c.items)+len(c.gone) != 0 {
		t.Errorf("without a change: %+v", c)
	}
	o.PutPage(o.site, Page{Name: "Home.aspx", Title: "Home", Text: "<p>second</p>"})
	o.PutPage(o.site, Page{Name: "New.aspx", Title: "New", Text: "<p>new</p>"})
	o.RemovePage(o.site, "Old.aspx")
	o.PutEntry(risks, fire, map[string]any{"Title": "Fire", "Level": 9})
	o.RemoveEntry(risks, flood)
	c = changesSince(t, open(t, s), c.next)
	expectPaths(t, c.paths(), "sites/eng/Site Pages/Home.aspx", "sites/eng/Site Pages/New.aspx", "sites/eng/Lists/Risks/Fire (1).md")
	if want := before.ids(t, "sites/eng/Site Pages/Old.aspx", "sites/eng/Lists/Risks/Flood (2).md"); !slices.Equal(c.gone, want) {
		t.Errorf("gone are %q, want %q", c.gone, want)
	}
	if c = changesSince(t, open(t, s), c.next); len(c.items)+len(c.gone) != 0 {
		t.Errorf("afterwards: %+v", c)
	}
}

func TestExpiredDeltasAreWalkedAgain(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	for n := range 30 {
		o.Server.Put(o.drive, fmt.Sprintf("%d.md", n), []byte("x"))
	}
	source := open(t, o.settings(nil))
	token := changesSince(t, source, "").next
	o.ExpireDeltas()
	page, err := source.(connectors.Feeder).Changes(t.Context(), token)
	if err != nil || !page.Expired {
		t.Errorf("an expired token: %+v, %v", page, err)
	}
	for _, wrong := range []string{"x", "{}", "#0123", `{"v":99,"l":{}}`, "null", "[]"} {
		if page, err := source.(connectors.Feeder).Changes(t.Context(), wrong); err != nil || !page.Expired {
			t.Errorf("the token %q: %+v, %v", wrong, page, err)
		}
	}
	// A walk whose delta expires between two pages starts again.
	o.MaxPage = 1
	first, err := source.Walk(t.Context(), "")
	if err != nil || first.Done {
		t.Fatalf("the first page: %+v, %v", first, err)
	}
	o.ExpireDeltas()
	paths := map[string]bool{}
	for cursor := first.Next; ; {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			paths[item.Path] = true
		}
		if page.Done {
			break
		}
		cursor = page.Next
	}
	if len(paths) != 30 {
		t.Errorf("the walk went on with %d of 30 items", len(paths))
	}
}

// A page larger than requested is divided.
func TestOversizedPagesAreDivided(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	for n := range 1300 {
		o.Server.Put(o.drive, fmt.Sprintf("%d.md", n), []byte("x"))
	}
	o.IgnoreTop = true
	s := o.settings(nil)
	feeder := open(t, s).(connectors.Feeder)
	token := changesSince(t, open(t, s), "").next
	if l := walk(t, open(t, s)); len(l.items) != 1300 {
		t.Errorf("the walk lists %d items", len(l.items))
	}
	// The feed leaves them to a walk.
	for n := range 600 {
		o.Server.Put(o.drive, fmt.Sprintf("%d.md", n), []byte("y"))
	}
	if page, err := feeder.Changes(t.Context(), token); err != nil || !page.Expired {
		t.Errorf("600 changes on a page: %d items, expired %v, %v", len(page.Items), page.Expired, err)
	}
}

// The token of many libraries is in the state. Each one reads its own changes.
func TestTheTokenOfManyLibraries(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	var drives []string
	for n := range 250 {
		drives = append(drives, o.AddLibrary(o.site, fmt.Sprint("Library ", n), fmt.Sprint("Library", n)))
	}
	s := o.settings(map[string]any{"includePages": false})
	token := changesSince(t, open(t, s), "").next
	if len(token) > 100 {
		t.Errorf("the token has %d bytes", len(token))
	}
	l := walk(t, open(t, s))
	if len(l.items) != 0 {
		t.Errorf("there are %q", l.paths())
	}
	o.Server.Put(drives[7], "seven.md", []byte("7"))
	o.Server.Put(drives[249], "last.md", []byte("8"))
	c := changesSince(t, open(t, s), token)
	expectPaths(t, c.paths(), "sites/eng/Library 7/seven.md", "sites/eng/Library 249/last.md")
	if c = changesSince(t, open(t, s), c.next); len(c.items) != 0 {
		t.Errorf("again: %q", c.paths())
	}
	keys, err := o.state.Keys(t.Context(), "token/")
	if err != nil || len(keys) > 3 {
		t.Errorf("old tokens stay in the state: %q, %v", keys, err)
	}
}
