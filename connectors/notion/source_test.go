package notion_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	. "github.com/magpie-search/magpie/internal/testkit/notionserver"
)

func status(name string) map[string]any {
	return map[string]any{"Status": map[string]any{"id": "st", "type": "status", "status": map[string]any{"name": name}}}
}

// newHandbook returns a workspace with pages, a database and files.
func newHandbook(t *testing.T) (w *workspace, ids map[string]string) {
	t.Helper()
	w = newWorkspace(t)
	ids = map[string]string{}
	ids["home"] = w.Add(Page{Title: "Home", Text: "Welcome"})
	ids["toggle"] = w.AddBlock(ids["home"])
	ids["travel"] = w.Add(Page{Title: "Travel/Trips", Parent: ids["toggle"], Text: "Take the train", Comments: []string{"Who approves?"}, Files: []File{{Name: "rates.csv", Data: []byte("a,b")}, {Name: "rates.csv", Data: []byte("c,d")}}})
	ids["database"], ids["tasks"] = w.AddDatabase("Tasks", ids["home"])
	ids["row"] = w.Add(Page{Title: "Buy", Parent: ids["tasks"], Text: "A boat", Properties: status("Open")})
	ids["below"] = w.Add(Page{Title: "Notes", Parent: ids["row"], Text: "Blue"})
	ids["other"] = w.Add(Page{Title: "", Text: "No title"})
	w.Add(Page{Title: "Secret", Text: "x", Unshared: true})
	w.Add(Page{Title: "Old", Text: "x", Trashed: true})
	w.Advance(time.Hour)
	return w, ids
}

func TestPagesAreItems(t *testing.T) {
	t.Parallel()
	for name, noMarkdown := range map[string]bool{"Markdown": false, "Blocks": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, ids := newHandbook(t)
			w.NoMarkdown = noMarkdown
			source := w.open(t, w.settings(map[string]any{"includeComments": true}))
			if err := source.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			found, _ := walk(t, source)
			first := "Home/Travel∕Trips/rates.csv"
			var second string
			for path := range found {
				if strings.Contains(path, "rates (") {
					second = withoutIDs(path)
				}
			}
			expectPaths(t, found, "Home", "Home/Travel∕Trips", first, second, "Home/Tasks/Buy", "Home/Tasks/Buy/Notes", "Untitled")
			by := map[string]connectors.Item{}
			for _, item := range found {
				by[item.ID] = item
			}
			row := by["page:"+ids["row"]]
			if row.Container != ids["tasks"] || row.Metadata["database"] != "Tasks" || row.Title != "Buy" || row.Version == "" || row.CreatedAt.IsZero() || !strings.HasPrefix(row.URL, "https://www.notion.so/") {
				t.Errorf("the row is %+v", row)
			}
			for id, want := range map[string]string{
				"below": "# Notes\n\nBlue\n", "other": "# Untitled\n\nNo title\n",
			} {
				if got, err := readContent(t.Context(), source, by["page:"+ids[id]]); err != nil || got != want {
					t.Errorf("%s is %q, %v; want %q", id, got, err, want)
				}
			}
			if got, err := readContent(t.Context(), source, row); err != nil || !strings.HasPrefix(got, "# Buy\n\n- Status: Open\n\nA boat\n") || !strings.Contains(got, "Notes") {
				t.Errorf("the row is %q, %v", got, err)
			}
			travel, err := readContent(t.Context(), source, by["page:"+ids["travel"]])
			if err != nil || !strings.Contains(travel, "Take the train") || !strings.Contains(travel, "[rates.csv]") || strings.Contains(travel, "X-Amz") || !strings.Contains(travel, "## Comments\n\n**Ada**, 2026-05-01:\n\nWho approves?\n") {
				t.Errorf("the page with files is %q, %v", travel, err)
			}
			for path, item := range found {
				if strings.HasPrefix(item.ID, "file:") {
					if got, err := readContent(t.Context(), source, item); err != nil || got != "a,b" && got != "c,d" {
						t.Errorf("%s is %q, %v", path, got, err)
					}
				}
			}
			resolver, ok := source.(connectors.Resolver)
			if !ok {
				t.Fatal("the source is no Resolver")
			}
			names := append(slices.Collect(maps.Keys(found)), slices.Collect(maps.Keys(by))...)
			items, missing, err := resolver.Resolve(t.Context(), append(names, "Home/x-"+strings.ReplaceAll(ids["row"], "-", ""), "page:00000000-0000-0000-0000-000000000000"))
			if err != nil || len(items) != len(found) || len(missing) != 2 {
				t.Errorf("resolved %d of %d items, missing %q, %v", len(items), len(found), missing, err)
			}
		})
	}
}

func TestPagesAndDatabasesAreSelected(t *testing.T) {
	t.Parallel()
	w, ids := newHandbook(t)
	for name, c := range map[string]struct {
		config map[string]any
		want   []string
	}{
		"a page":        {map[string]any{"rootPages": []any{"https://www.notion.so/acme/Buy-" + strings.ReplaceAll(ids["row"], "-", "") + "?pvs=4"}}, []string{"Home/Tasks/Buy", "Home/Tasks/Buy/Notes"}},
		"a database":    {map[string]any{"databases": []any{ids["database"]}}, []string{"Home/Tasks/Buy", "Home/Tasks/Buy/Notes"}},
		"a data source": {map[string]any{"databases": []any{ids["tasks"]}}, []string{"Home/Tasks/Buy", "Home/Tasks/Buy/Notes"}},
		"both":          {map[string]any{"databases": []any{ids["database"]}, "rootPages": []any{ids["travel"]}}, []string{"Home/Tasks/Buy", "Home/Tasks/Buy/Notes", "Home/Travel∕Trips"}},
	} {
		c.config["includeFiles"] = false
		source := w.open(t, w.settings(c.config))
		if err := source.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		found, _ := walk(t, source)
		expectPaths(t, found, c.want...)
		resolver, ok := source.(connectors.Resolver)
		if !ok {
			t.Fatal("the source is no Resolver")
		}
		if items, missing, err := resolver.Resolve(t.Context(), []string{"page:" + ids["row"], "page:" + ids["other"]}); err != nil || len(items) != 1 || len(missing) != 1 {
			t.Errorf("%s: resolved %d items, missing %q, %v", name, len(items), missing, err)
		}
	}
	for option, id := range map[string]string{"rootPages": "00000000-0000-0000-0000-000000000000", "databases": "00000000000000000000000000000000"} {
		source := w.open(t, w.settings(map[string]any{option: []any{id}}))
		if _, err := source.Walk(t.Context(), ""); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "config."+option) {
			t.Errorf("%s that is not shared: %v", option, err)
		}
	}
	for _, id := range []string{"", "Home", "https://www.notion.so/acme/Home", "1a2b3c4d"} {
		if w.kind(t).Validate(map[string]any{"rootPages": []any{id}}, map[string]string{"integrationToken": "x"}) == nil {
			t.Errorf("the id %q is accepted", id)
		}
	}
}

func TestTheSampleIsRead(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.AddSample()
	w.Advance(time.Hour)
	source := w.open(t, w.settings(map[string]any{"includeComments": true}))
	found, _ := walk(t, source)
	expectPaths(t, found, "Handbook", "Handbook/Travel", "Handbook/Travel/rates.csv", "Handbook/Decisions/Use PostgreSQL", "Handbook/Decisions/Rent a boat")
	for path, item := range found {
		if text, err := readContent(t.Context(), source, item); err != nil || len(text) < 20 {
			t.Errorf("%s is %q, %v", path, text, err)
		}
	}
}

// The rows of a data source are complete, whatever the search and one query return.
func TestManyRows(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.QueryLimit = 150
	_, source := w.AddDatabase("Rows", "")
	for n := range 400 {
		w.Add(Page{Title: fmt.Sprint("Row ", n), Parent: source, Unindexed: n%2 == 0})
		w.Advance(30 * time.Second)
	}
	w.Advance(time.Hour)
	found, pages := walk(t, w.open(t, w.settings(map[string]any{"includeFiles": false})))
	if len(found) != 400 || len(pages[len(pages)-1].Warnings) > 0 {
		t.Errorf("%d rows, warnings %q", len(found), pages[len(pages)-1].Warnings)
	}
	// Rows that were all created in one minute cannot be told apart.
	_, crowd := w.AddDatabase("Crowd", "")
	for n := range 200 {
		p := w.Add(Page{Title: fmt.Sprint("Same ", n), Parent: crowd})
		w.Set(p, func(p *Page) { p.Created = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC) })
	}
	_, pages = walk(t, w.open(t, w.settings(map[string]any{"includeFiles": false})))
	incomplete := false
	for _, page := range pages {
		incomplete = incomplete || slices.Contains(page.Incomplete, crowd)
	}
	if !incomplete {
		t.Error("a data source whose rows are not all listed is taken for complete")
	}
}

func TestADatabaseThatCannotBeListed(t *testing.T) {
	t.Parallel()
	w, ids := newHandbook(t)
	w.Fail(func(r *http.Request) *Fault {
		if strings.HasSuffix(r.URL.Path, ids["tasks"]+"/query") {
			return &Fault{Status: http.StatusForbidden, Body: `{"object":"error","status":403,"code":"restricted_resource","message":"Insufficient permissions"}`}
		}
		return nil
	})
	_, pages := walk(t, w.open(t, w.settings(nil)))
	if !slices.ContainsFunc(pages, func(p connectors.Page) bool {
		return slices.Contains(p.Incomplete, ids["tasks"]) && len(p.Warnings) > 0
	}) {
		t.Error("the data source is taken for complete")
	}
}

// Notion leaves parts out of long pages.
func TestLongPagesAreComplete(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.MaxLines = 10
	var lines []string
	for n := range 35 {
		lines = append(lines, fmt.Sprint("Line ", n))
	}
	w.Add(Page{Title: "Long", Text: strings.Join(lines, "\n")})
	w.Advance(time.Hour)
	source := w.open(t, w.settings(map[string]any{"includeFiles": false}))
	found, _ := walk(t, source)
	for _, item := range found {
		text, err := readContent(t.Context(), source, item)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(text, "# Long"), "Line ", "")); len(got) != 35 || !slices.IsSortedFunc(got, func(a, b string) int { return len(a) - len(b) }) {
			t.Errorf("the page is %q", text)
		}
	}
}

// The time of an edit is in minutes: a page that was just edited is read again.
func TestEditsWithinAMinute(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	id := w.Add(Page{Title: "Draft", Text: "first"})
	settings := w.settings(map[string]any{"includeFiles": false})
	version := func() string {
		found, _ := walk(t, w.open(t, settings))
		for _, item := range found {
			return item.Version
		}
		return ""
	}
	before := version()
	w.Change(id, func(p *Page) { p.Text = "second" })
	after := version()
	if before == after {
		t.Errorf("the version stays %q after an edit in the same minute", before)
	}
	w.Advance(time.Hour)
	settled := version()
	w.Advance(time.Hour)
	if again := version(); again != settled || settled == after {
		t.Errorf("the version goes from %q to %q and %q", after, settled, again)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	w, ids := newHandbook(t)
	wrong := w.settings(nil)
	wrong.Credentials["integrationToken"] = "wrong-token"
	if err := w.open(t, wrong).Check(t.Context()); !connectors.IsNeedsAuth(err) || strings.Contains(err.Error(), "wrong-token") {
		t.Errorf("a wrong token: %v", err)
	}
	w.NoComments = true
	if err := w.open(t, w.settings(map[string]any{"includeComments": true})).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), `"Read comments"`) {
		t.Errorf("without the capability to read comments: %v", err)
	}
	if err := w.open(t, w.settings(nil)).Check(t.Context()); err != nil {
		t.Errorf("without comments: %v", err)
	}
	w.NoRead = true
	tiers, err := w.open(t, w.settings(nil)).(connectors.TierChecker).CheckTiers(t.Context())
	if err != nil || len(tiers) != 1 || tiers[0].Name != connectors.TierRead || !connectors.IsNeedsAuth(tiers[0].Err) || !strings.Contains(tiers[0].Err.Error(), `"Read content"`) {
		t.Errorf("the tiers without the capability to read: %v, %v", tiers, err)
	}
	if err := w.open(t, w.settings(nil)).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), `"Read content"`) {
		t.Errorf("without the capability to read: %v", err)
	}
	w.NoRead = false
	source := w.open(t, w.settings(nil))
	found, _ := walk(t, source)
	w.Change(ids["row"], func(p *Page) { p.Trashed = true })
	w.Change(ids["other"], func(p *Page) { p.Text = "edited" })
	for _, item := range found {
		_, err := readContent(t.Context(), source, item)
		_, again := connectors.RetryAfterOf(err)
		switch item.ID {
		case "page:" + ids["row"], "page:" + ids["below"]:
			if !errors.Is(err, connectors.ErrNotFound) {
				t.Errorf("a page in the trash: %v", err)
			}
		case "page:" + ids["other"]:
			if !again {
				t.Errorf("a page that was edited: %v", err)
			}
		default:
			if err != nil {
				t.Errorf("%s: %v", item.Path, err)
			}
		}
	}
	empty := newWorkspace(t)
	if err := empty.open(t, empty.settings(nil)).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "nothing is shared") {
		t.Errorf("an empty workspace: %v", err)
	}
	w.Sunset = "Sat, 31 Oct 2026 00:00:00 GMT"
	var notices []string
	ctx := connectors.WithNotices(t.Context(), func(text string) { notices = append(notices, text) })
	if _, err := w.open(t, w.settings(nil)).Walk(ctx, ""); err != nil || len(notices) == 0 || !strings.Contains(notices[0], "Notion ends a part of its API on 2026-10-31") {
		t.Errorf("the end of the version gives %q, %v", notices, err)
	}
}

func FuzzCursor(f *testing.F) {
	w := newWorkspace(f)
	id := w.Add(Page{Title: "A", Text: "a"})
	w.Advance(time.Hour)
	settings := w.settings(nil)
	source := w.open(f, settings)
	page, err := source.Walk(f.Context(), "")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{page.Next, `{"w":"x","n":1}`, `{"w":"x","n":0,"l":{"p":"rows"}}`, `{"s":1,"e":2}`, ""} {
		f.Add(seed)
	}
	feeder, ok := source.(connectors.Feeder)
	if !ok {
		f.Fatal("the source is no Feeder")
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		if page, err := feeder.Changes(t.Context(), cursor); err == nil && !page.Expired && len(page.Gone) > 0 {
			t.Errorf("%q deletes %q", cursor, page.Gone)
		}
		for range 20 {
			got, err := source.Walk(t.Context(), cursor)
			for _, item := range got.Items {
				if item.ID != "page:"+id {
					t.Errorf("%q gave %q", cursor, item.ID)
				}
			}
			if err != nil || got.Done {
				return
			}
			if got.Next == cursor || len(got.Next) > connectors.MaxCursorBytes {
				t.Errorf("%q leads to %q", cursor, got.Next)
			}
			cursor = got.Next
		}
		t.Errorf("the walk does not end: %q", cursor)
	})
}

// A page without readable comments is a document, and not taken for deleted.
// The option for comments changes the versions of pages, so that the next sync reads
// them again.
func TestTheOptionOfCommentsChangesVersions(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	id := w.Add(Page{Title: "Page", Text: "text", Comments: []string{"said"}})
	versions := map[bool]string{}
	for _, with := range []bool{true, false} {
		for range 2 {
			source := w.open(t, w.settings(map[string]any{"includeComments": with}))
			found, _ := walk(t, source)
			for _, item := range found {
				if item.ID != "page:"+id {
					continue
				}
				versions[with] = item.Version
				content, err := readContent(t.Context(), source, item)
				if err != nil || strings.Contains(content, "said") != with {
					t.Errorf("with comments %v: %q, %v", with, content, err)
				}
			}
			w.Advance(time.Hour) // the edit is settled the second time
		}
	}
	if versions[true] == versions[false] || versions[false] == "" {
		t.Errorf("the versions are %v", versions)
	}
}

func TestCommentsThatCannotBeListed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound} {
		w, _ := newHandbook(t)
		w.Fail(func(r *http.Request) *Fault {
			if strings.HasSuffix(r.URL.Path, "/comments") {
				return &Fault{Status: status, Body: `{"object":"error","code":"restricted_resource","message":"Insufficient permissions"}`}
			}
			return nil
		})
		source := w.open(t, w.settings(map[string]any{"includeComments": true}))
		found, _ := walk(t, source)
		for _, item := range found {
			if strings.HasPrefix(item.ID, "file:") {
				continue
			}
			content, err := source.Open(t.Context(), item)
			if err != nil {
				t.Fatalf("with status %d: %v", status, err)
			}
			_ = content.Close()
		}
	}
}
