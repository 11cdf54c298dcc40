package googledrive_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	. "github.com/magpie-search/magpie/internal/testkit/driveserver"
)

// A follower reads the feed of a source.
type follower struct {
	t      testing.TB
	source connectors.Source
	token  string
	items  map[string]connectors.Item // by id
}

// follow walks a source and returns a follower of its feed.
func follow(t testing.TB, source connectors.Source) *follower {
	t.Helper()
	f := &follower{t: t, source: source, items: map[string]connectors.Item{}}
	f.token = f.changes("").Next
	items, _ := walk(t, source)
	for _, item := range items {
		f.items[item.ID] = item
	}
	return f
}

func (f *follower) changes(token string) connectors.ChangePage {
	f.t.Helper()
	feeder, ok := f.source.(connectors.Feeder)
	if !ok {
		f.t.Fatal("the source has no feed")
	}
	page, err := feeder.Changes(f.t.Context(), token)
	if err != nil {
		f.t.Fatal(err)
	}
	return page
}

// read reads all changes. It returns them as one page without the items, which it
// keeps. expired ends it.
func (f *follower) read() (all connectors.ChangePage) {
	f.t.Helper()
	token := f.token
	for range maxTestPages {
		page := f.changes(token)
		if page.Expired {
			all.Expired = true
			return all
		}
		for _, id := range page.Gone {
			delete(f.items, id)
		}
		for _, item := range page.Items {
			f.items[item.ID] = item
		}
		all.Gone, all.Permissions = append(all.Gone, page.Gone...), append(all.Permissions, page.Permissions...)
		all.Items, all.Warnings = append(all.Items, page.Items...), append(all.Warnings, page.Warnings...)
		if token = page.Next; !page.More {
			f.token = token
			return all
		}
	}
	f.t.Fatal("the changes do not end")
	return all
}

// expectWalk compares the items with those of a walk.
func (f *follower) expectWalk(what string) {
	f.t.Helper()
	walked, _ := walk(f.t, f.source)
	byPath := map[string]connectors.Item{}
	for _, item := range f.items {
		byPath[item.Path] = item
	}
	if !slices.Equal(paths(byPath), paths(walked)) {
		f.t.Errorf("%s: by the feed %q, the walk lists %q", what, paths(byPath), paths(walked))
	}
}

func TestTheFeedFollowsFoldersAndDrives(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	admin := Permission{Type: "user", Role: "organizer", Email: ada}
	second := p.AddDrive("Second", admin)
	deep := p.Add(File{Name: "Deep", Owner: ada, MimeType: Folder})
	inner := p.Add(File{Name: "Inner", Owner: ada, Parent: deep, MimeType: Folder})
	mine := p.Add(File{Name: "mine.md", Owner: ada, Parent: inner})
	p.Add(File{Name: "top.md", Owner: ada})
	handbook := p.Add(File{Name: "Handbook", Parent: p.drive, MimeType: Folder})
	for n := range 450 {
		p.Add(File{Name: fmt.Sprint(n, ".md"), Parent: handbook})
	}
	f := follow(t, open(t, p.settings(map[string]any{"includeSharedWithMe": true})))
	if page := f.read(); len(page.Items)+len(page.Gone) > 0 {
		t.Errorf("without a change: %+v", page)
	}

	steps := []struct {
		name   string
		change func()
	}{
		{"a folder is renamed", func() { p.Change(deep, false, func(f *File) { f.Name = "Deeper" }) }},
		{"a folder with many files moves", func() {
			above := p.Add(File{Name: "Above", Parent: p.drive, MimeType: Folder})
			p.Change(handbook, false, func(f *File) { f.Parent = above })
		}},
		{"a file moves to a shared drive", func() { p.Change(mine, false, func(f *File) { f.Parent = p.drive }) }},
		{"a file moves to another shared drive", func() { p.Change(mine, false, func(f *File) { f.Parent = second }) }},
		{"a folder moves to another shared drive", func() { p.Change(handbook, false, func(f *File) { f.Parent = second }) }},
		{"a folder goes to the trash", func() { p.Change(handbook, false, func(f *File) { f.Trashed = true }) }},
		{"a folder comes back", func() { p.Change(handbook, false, func(f *File) { f.Trashed = false }) }},
		{"somebody shares a file", func() {
			p.Add(File{Name: "theirs.md", Owner: bob, Permissions: []Permission{{Type: "user", Email: ada}}})
		}},
		{"a folder is new with a file that is older", func() {
			folder := p.Add(File{Name: "Theirs", Owner: bob, MimeType: Folder})
			p.Add(File{Name: "old.md", Owner: bob, Parent: folder})
			p.Change(folder, false, func(f *File) { f.Permissions = []Permission{{Type: "user", Email: ada}} })
		}},
	}
	for _, step := range steps {
		step.change()
		page := f.read()
		if page.Expired { // only a walk finds the folder in its new drive
			if !strings.Contains(step.name, "another shared drive") {
				t.Errorf("%s: the token expired", step.name)
			}
			f = follow(t, f.source)
			continue
		}
		f.expectWalk(step.name)
	}
	for _, step := range []struct {
		name   string
		change func()
	}{
		{"a drive is renamed", func() { p.ChangeDrive(second, "Third", admin) }},
		{"a folder is deleted", func() { p.Remove(deep) }},
		{"a drive is new", func() { p.AddDrive("New", admin) }},
		{"a drive is gone", func() { p.ChangeDrive(second, "") }},
	} {
		f := follow(t, open(t, p.settings(nil)))
		step.change()
		if page := f.read(); !page.Expired {
			t.Errorf("%s: %+v", step.name, page)
		}
	}
}

// The files in a folder in the trash are gone with the feed, and come back with it.
func TestFoldersInTheTrash(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	trees := map[string]string{} // the top folder of each unit
	for unit, parent := range map[string]string{"My Drive": "", "Team": p.drive} {
		top := p.Add(File{Name: "Top of " + unit, Parent: parent, Owner: ada, MimeType: Folder})
		deep := p.Add(File{Name: "Deep", Parent: p.Add(File{Name: "Inner", Parent: top, Owner: ada, MimeType: Folder}), Owner: ada, MimeType: Folder})
		p.Add(File{Name: "a.md", Parent: top, Owner: ada})
		p.Add(File{Name: "b.md", Parent: deep, Owner: ada})
		trees[unit] = top
	}
	for name, config := range map[string]map[string]any{
		"drives": nil, "folders": {"folders": []any{trees["My Drive"], trees["Team"]}},
	} {
		f := follow(t, open(t, p.settings(config)))
		before := len(f.items)
		for _, top := range trees {
			inner := p.Find(top, "Inner")
			for _, trashed := range []bool{true, false} {
				p.Change(inner, false, func(f *File) { f.Trashed = trashed })
				page := f.read()
				if want := map[bool]int{true: before - 1, false: before}[trashed]; page.Expired || len(f.items) != want || trashed != (len(page.Gone) > 0) {
					t.Errorf("%s, in the trash %v: %d files, want %d; gone %q, expired %v", name, trashed, len(f.items), want, page.Gone, page.Expired)
				}
				f.expectWalk(fmt.Sprint(name, ", in the trash ", trashed))
			}
		}
		// A folder that was in the trash before the walk.
		inner := p.Find(trees["Team"], "Inner")
		p.Change(inner, false, func(f *File) { f.Trashed = true })
		f = follow(t, open(t, p.settings(config)))
		p.Change(inner, false, func(f *File) { f.Trashed = false })
		if page := f.read(); page.Expired || len(f.items) != before {
			t.Errorf("%s: after a folder came back: %d files, want %d; expired %v", name, len(f.items), before, page.Expired)
		}
	}
}

// A sync that fails after the folders were stored reads the same changes again.
func TestTheFilesOfAMovedFolderAreGivenAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	folder := p.Add(File{Name: "Old", Parent: p.drive, MimeType: Folder})
	file := p.Add(File{Name: "a.md", Parent: folder})
	s := p.settings(nil)
	f := follow(t, open(t, s))
	p.Change(folder, false, func(f *File) { f.Name = "New" })
	before := f.token
	for range 3 {
		f.token = before
		f.source = open(t, s) // with the same state
		delete(f.items, file)
		f.read()
		if f.items[file].Path != "Team/New/a.md" {
			t.Errorf("the file is at %q", f.items[file].Path)
		}
	}
	if page := f.read(); len(page.Items) > 0 {
		t.Errorf("a folder that moved before: %+v", page.Items)
	}
}

func TestTheFeedReportsReaders(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	folder := p.Add(File{Name: "Plans", Parent: p.drive, MimeType: Folder})
	inner := p.Add(File{Name: "Secret", Parent: folder, MimeType: Folder})
	file := p.Add(File{Name: "a.md", Parent: inner})
	source := open(t, p.settings(map[string]any{"include_permissions": true}))
	f := follow(t, source)
	readers := func() string { return fmt.Sprint(readersOf(t, source, f.items[file]).Principals) }
	if got := readers(); got != "[group:drive:"+p.drive+"]" {
		t.Errorf("at first: %s", got)
	}
	p.Change(folder, false, func(f *File) { f.Permissions = []Permission{{Type: "user", Email: bob}} })
	if page := f.read(); !slices.Contains(page.Permissions, file) {
		t.Errorf("the permissions of a folder above changed: %+v", page.Permissions)
	}
	if got := readers(); !strings.Contains(got, "user:"+bob) {
		t.Errorf("after the folder was shared: %s", got)
	}
	p.Change(inner, false, func(f *File) { f.NoInheritance = true })
	f.read()
	if got := readers(); got != "[]" {
		t.Errorf("after the folder was limited: %s", got)
	}
}

func TestAForbiddenFeedKeepsItsPlace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	hidden := p.AddDrive("Hidden", Permission{Type: "user", Email: bob})
	p.Add(File{Name: "a.md", Parent: hidden})
	s := p.settings(map[string]any{"sharedDrives": []any{p.drive, hidden}})
	f := follow(t, open(t, s))
	p.Add(File{Name: "b.md", Parent: p.drive})
	f.source = open(t, s) // of the next sync
	if page := f.read(); page.Expired || len(page.Items) != 1 || len(page.Warnings) != 1 {
		t.Errorf("with a hidden drive: %+v", page)
	}
	p.ChangeDrive(hidden, "Hidden", Permission{Type: "user", Email: ada})
	if page := f.read(); !page.Expired {
		t.Errorf("the drive is visible now: %+v", page)
	}
}

// An unchanged Drive is synced with few requests.
func TestTheFeedNeedsFewRequests(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for n := range 1000 {
		p.Add(File{Name: fmt.Sprint(n, ".md"), Parent: p.drive})
	}
	requests := func() int { return p.Requests("") }
	f := follow(t, open(t, p.settings(nil)))
	first := requests()
	f.read()
	unchanged := requests() - first
	p.Add(File{Name: "new.md", Parent: p.drive})
	f.read()
	changed := requests() - first - unchanged
	t.Logf("first %d, unchanged %d, one changed %d", first, unchanged, changed)
	if first > 20 || unchanged > 4 || changed > 4 {
		t.Errorf("requests: first %d, unchanged %d, one changed %d", first, unchanged, changed)
	}
}

func TestWrongChangesAreErrors(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.Add(File{Name: "a.md", Parent: p.drive})
	f := follow(t, open(t, p.settings(nil)))
	p.Change(file, true, func(f *File) { f.Content = []byte("x") })
	feeder, _ := f.source.(connectors.Feeder)
	for name, body := range map[string]string{
		"nothing": "", "{}": "{}", "a page": "<html><body>wait</body></html>", "no end": `{"changes":[]}`, "a change of nothing": `{"changes":[{"changeType":"file"}],"newStartPageToken":"9"}`,
		"a truncated list": `{"changes":[{"changeTy`,
	} {
		p.Fail(func(r *http.Request) *Fault {
			if r.URL.Path != "/drive/v3/changes" {
				return nil
			}
			return &Fault{Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
		})
		_, err := feeder.Changes(t.Context(), f.token)
		if _, retryable := connectors.RetryAfterOf(err); !retryable {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.Fail(nil)
	if page := f.read(); len(page.Items) != 1 {
		t.Errorf("afterwards: %+v", page.Items)
	}
}
