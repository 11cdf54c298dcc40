package notion_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	. "github.com/magpie-search/magpie/internal/testkit/notionserver"
)

// A changeReader keeps a token, as a sync does.
type changeReader struct {
	settings connectors.Settings
	of       *workspace
	token    string
}

// newChangeReader reads the token of the present, and walks.
func newChangeReader(t *testing.T, w *workspace, config map[string]any) *changeReader {
	t.Helper()
	r := &changeReader{settings: w.settings(config), of: w}
	r.next(t)
	walk(t, w.open(t, r.settings))
	return r
}

func (r *changeReader) next(t *testing.T) connectors.ChangePage {
	t.Helper()
	feeder, ok := r.of.open(t, r.settings).(connectors.Feeder)
	if !ok {
		t.Fatal("the source is no Feeder")
	}
	page, err := feeder.Changes(t.Context(), r.token)
	if err != nil || page.Expired {
		t.Fatalf("the token %q: expired %v, %v", r.token, page.Expired, err)
	}
	r.token = page.Next
	return page
}

func (r *changeReader) all(t *testing.T) (paths map[string]string, gone []string) {
	t.Helper()
	paths = map[string]string{}
	for range 100 {
		page := r.next(t)
		for _, item := range page.Items {
			paths[item.ID] = withoutIDs(item.Path)
		}
		gone = append(gone, page.Gone...)
		if !page.More {
			return paths, gone
		}
	}
	t.Fatal("the changes do not end")
	return nil, nil
}

func TestChangesAreFed(t *testing.T) {
	t.Parallel()
	w, ids := newHandbook(t)
	reader := newChangeReader(t, w, nil)
	reader.all(t)
	if _, gone := reader.all(t); len(gone) > 0 {
		t.Errorf("without a change, gone are %q", gone)
	}
	w.Advance(time.Hour)
	w.Change(ids["home"], func(p *Page) { p.Title = "House" })
	w.Change(ids["travel"], func(p *Page) { p.Files = p.Files[1:] })
	w.Set(ids["other"], func(p *Page) { p.Parent = ids["row"] })
	w.Change(ids["below"], func(p *Page) { p.Trashed = true })
	created := w.Add(Page{Title: "New", Parent: ids["tasks"], Text: "n"})
	w.Advance(time.Hour)
	unmoved := reader.token
	for range 2 { // the second time as after a dry run, which moves no token
		reader.token = unmoved
		paths, gone := reader.all(t)
		for id, want := range map[string]string{
			ids["home"]: "House", ids["travel"]: "House/Travel∕Trips", ids["row"]: "House/Tasks/Buy", ids["other"]: "House/Tasks/Buy/Untitled", created: "House/Tasks/New",
		} {
			if paths["page:"+id] != want {
				t.Errorf("the path of %s is %q, want %q", id, paths["page:"+id], want)
			}
		}
		if !slices.Contains(gone, "page:"+ids["below"]) || len(gone) != 2 || gone[0][:5] == gone[1][:5] {
			t.Errorf("gone are %q", gone)
		}
	}
	if paths, gone := reader.all(t); len(gone) > 0 && slices.Contains(gone, "page:"+ids["below"]) || paths["page:"+ids["row"]] != "" {
		t.Errorf("afterwards: %q, gone %q", paths, gone)
	}
	// A page that moves out of the connector's pages is gone.
	narrow := newChangeReader(t, w, map[string]any{"rootPages": []any{ids["row"]}})
	w.Set(ids["other"], func(p *Page) { p.Parent = "" })
	if _, gone := narrow.all(t); !slices.Contains(gone, "page:"+ids["other"]) {
		t.Errorf("a page that left is not gone: %q", gone)
	}
}

// A page that the search does not list is not gone.
func TestTheSearchIsNotTrusted(t *testing.T) {
	t.Parallel()
	w, ids := newHandbook(t)
	reader := newChangeReader(t, w, nil)
	reader.all(t)
	w.Set(ids["other"], func(p *Page) { p.Unindexed = true })
	for range 2 {
		if _, gone := reader.all(t); len(gone) > 0 {
			t.Errorf("gone are %q", gone)
		}
	}
	w.Set(ids["other"], func(p *Page) { p.Unshared = true })
	if _, gone := reader.all(t); !slices.Equal(gone, []string{"page:" + ids["other"]}) {
		t.Errorf("gone are %q", gone)
	}
}

// An unchanged sync of many pages reads the newest edits, and not the whole list.
func TestAnUnchangedFeedNeedsFewRequests(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	root := w.Add(Page{Title: "Root"})
	var ids []string
	for n := range 1500 {
		ids = append(ids, w.Add(Page{Title: fmt.Sprint(n), Parent: root}))
	}
	w.Advance(time.Hour)
	last := w.Add(Page{Title: "Last"})
	w.Advance(time.Hour)
	reader := newChangeReader(t, w, map[string]any{"includeFiles": false})
	before := w.Requests("")
	paths, gone := reader.all(t)
	requests := w.Requests("") - before
	t.Logf("%d requests, %d items", requests, len(paths))
	if requests > 5 || len(gone) > 0 || !slices.Equal(slices.Collect(maps.Keys(paths)), []string{"page:" + last}) {
		t.Errorf("%d requests, %q, gone %q", requests, paths, gone)
	}
	// What goes to the trash is found at once, with the pages below it.
	below := w.Add(Page{Title: "Below", Parent: ids[7]})
	w.Advance(time.Hour)
	reader.all(t)
	w.Change(ids[7], func(p *Page) { p.Trashed = true })
	w.Change(ids[8], func(p *Page) { p.Unshared = true })
	before = w.Requests("")
	if _, gone := reader.all(t); !slices.Equal(gone, sorted("page:"+ids[7], "page:"+below)) {
		t.Errorf("gone are %q", gone)
	}
	t.Logf("%d requests with two pages in the trash", w.Requests("")-before)
	// What is no longer shared is found some hours later, as is the trash of a server
	// that does not search it.
	w.NoTrash = true
	w.Change(ids[9], func(p *Page) { p.Trashed = true })
	if _, gone := reader.all(t); len(gone) > 0 {
		t.Errorf("gone are %q", gone)
	}
	w.Advance(7 * time.Hour)
	if _, gone := reader.all(t); !slices.Equal(gone, sorted("page:"+ids[8], "page:"+ids[9])) {
		t.Errorf("gone are %q", gone)
	}
}

func sorted(ids ...string) []string {
	slices.Sort(ids)
	return ids
}
