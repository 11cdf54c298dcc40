package slack_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/slack"
	"github.com/magpie-search/magpie/internal/testkit/slackserver"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

func TestKindPassesTheSuite(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, func(t *testing.T) connectortest.Setup {
		f := newFileFixture(t)
		return connectortest.Setup{Kind: f.kind(), Settings: settings(f.world, nil), Fixture: f, UnusualPaths: []string{
			"with space.md", "plus+sign.md", "100%.md", "ünï/çødé.md", "日本語/ページ.md", "emoji-🐦.md", "quote'\".md", "question?.md", "hash#.md",
			"back\\slash.md", "no-ending", "dots..md", "a/b/c/d.md", "less<more>.md", ".hidden", "dash-F123.md",
		}}
	})
}

// settings returns settings for the server's workspace with all scopes.
func settings(world *slackserver.Server, config map[string]any) connectors.Settings {
	all := map[string]any{"apiUrl": world.API()}
	for name, value := range config {
		all[name] = value
	}
	return connectors.Settings{Config: all, Credentials: map[string]string{
		"botToken": world.Token(slackserver.AllScopes), "signingSecret": "8f742231b10e8888abcd99yyyzzz85a5",
	}}
}

// openWith opens a source through a registry, as Magpie does.
func openWith(t *testing.T, world *slackserver.Server, s connectors.Settings) connectors.Source {
	t.Helper()
	return connectortest.Open(t, slack.Kind(world.Dial), s)
}

// walk returns the items of a walk by id, and its warnings.
func walk(t *testing.T, source connectors.Source) (map[string]connectors.Item, []string) {
	t.Helper()
	items := make(map[string]connectors.Item)
	var warnings []string
	cursor := ""
	for range 500 {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatalf("walk: %v", err)
		}
		if len(page.Items) > connectors.MaxPageItems {
			t.Fatalf("a page has %d items", len(page.Items))
		}
		for _, item := range page.Items {
			if _, twice := items[item.ID]; twice {
				t.Errorf("%s was named twice", item.ID)
			}
			items[item.ID] = item
		}
		warnings = append(warnings, page.Warnings...)
		if page.Done {
			return items, warnings
		}
		if page.Next == cursor {
			t.Fatalf("the cursor %s goes round", cursor)
		}
		cursor = page.Next
	}
	t.Fatal("the walk does not end")
	return nil, nil
}

func content(t *testing.T, source connectors.Source, item connectors.Item) string {
	t.Helper()
	if item.Content != nil {
		return string(item.Content)
	}
	reader, err := source.Open(t.Context(), item)
	if err != nil {
		t.Fatalf("open %s: %v", item.ID, err)
	}
	defer func() { _ = reader.Close() }()
	data, err := io.ReadAll(reader)
	if err != nil {
		t.Fatalf("read %s: %v", item.ID, err)
	}
	return string(data)
}

func idsOf(items map[string]connectors.Item) []string {
	var ids []string
	for id := range items {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// A fileFixture is a channel whose files are the suite's. Slack identifies files by
// id, so the fixture translates between the suite's paths and the items' paths.
type fileFixture struct {
	world   *slackserver.Server
	channel string

	mutex     sync.Mutex
	ids       map[string]string // by the suite's path
	paths     map[string]string // the suite's paths by id
	itemPaths map[string]string // the kind's paths by the suite's
}

func newFileFixture(t *testing.T) *fileFixture {
	world := slackserver.New(t)
	f := &fileFixture{world: world, ids: make(map[string]string), paths: make(map[string]string), itemPaths: make(map[string]string)}
	f.channel = world.AddChannel(slackserver.Channel{Name: "shelf", Members: []string{world.BotUser}})
	return f
}

func (f *fileFixture) Put(t testing.TB, path string, content []byte) {
	t.Helper()
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if id := f.ids[path]; id != "" {
		f.world.EditFile(id, content)
		return
	}
	id, _ := f.world.Share(f.channel, slackserver.File{Name: path, MediaType: "application/octet-stream", Content: content})
	f.ids[path], f.paths[id] = id, path
}

func (f *fileFixture) Delete(t testing.TB, path string) {
	t.Helper()
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.world.DeleteFile(f.ids[path])
	delete(f.paths, f.ids[path])
	delete(f.ids, path)
}

func (f *fileFixture) kind() connectors.Kind {
	kind := slack.Kind(f.world.Dial)
	open := kind.New
	kind.New = func(ctx context.Context, s connectors.Settings) (connectors.Source, error) {
		source, err := open(ctx, s)
		if err != nil {
			return nil, err
		}
		return &fixturePathSource{everything: source.(everything), shelf: f}, nil
	}
	return kind
}

type everything interface {
	connectors.Source
	connectors.Resolver
	connectors.PermissionLister
	connectors.GroupLister
}

// A fixturePathSource shows the files under the paths that the suite put them at.
type fixturePathSource struct {
	everything
	shelf *fileFixture
}

func (r *fixturePathSource) toFixturePaths(items []connectors.Item) []connectors.Item {
	r.shelf.mutex.Lock()
	defer r.shelf.mutex.Unlock()
	out := slices.Clone(items)
	for i := range out {
		if path, known := r.shelf.paths[out[i].ID]; known {
			r.shelf.itemPaths[path], out[i].Path = out[i].Path, path
		}
	}
	return out
}

func (r *fixturePathSource) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	page, err := r.everything.Walk(ctx, cursor)
	page.Items = r.toFixturePaths(page.Items)
	return page, err
}

func (r *fixturePathSource) Resolve(ctx context.Context, names []string) ([]connectors.Item, []string, error) {
	asked, back := make([]string, len(names)), make(map[string]string)
	r.shelf.mutex.Lock()
	for i, name := range names {
		asked[i] = name
		if path, known := r.shelf.itemPaths[name]; known {
			asked[i] = path
		}
		back[asked[i]] = name
	}
	r.shelf.mutex.Unlock()
	found, missing, err := r.everything.Resolve(ctx, asked)
	for i := range missing {
		missing[i] = back[missing[i]]
	}
	return r.toFixturePaths(found), missing, err
}

func TestChannelBecomesDaysThreadsAndFiles(t *testing.T) {
	t.Parallel()
	world := slackserver.New(t)
	ada := world.AddUser(slackserver.User{Name: "ada", RealName: "Ada Lovelace", Email: "ada@example.com"})
	grace := world.AddUser(slackserver.User{Name: "grace", RealName: "Grace Hopper", Email: "grace@example.com"})
	general := world.AddChannel(slackserver.Channel{Name: "general", Members: []string{world.BotUser, ada, grace}})
	world.AddChannel(slackserver.Channel{Name: "elsewhere", Members: []string{ada}})

	hello := world.Post(general, slackserver.Message{User: ada, Text: "Good morning, <@" + grace + ">! See <https://example.com/plan|the plan> in <#" + general + "|general>."})
	root := world.Post(general, slackserver.Message{User: grace, Text: "How do we *deploy* the `walrus`?\nIt fails with ```exit 1 &amp; out```"})
	reply := world.Post(general, slackserver.Message{User: ada, Thread: root, Text: "# run make up &lt;now&gt;\n• one\n• two"})
	world.Invite(general, "U404")
	world.Post(general, slackserver.Message{Bot: "B1", Username: "Alarm", Subtype: "bot_message", Text: "disk full"})
	picture, _ := world.Share(general, slackserver.File{Name: "a report.md", MediaType: "text/markdown", User: ada, Content: []byte("# Report")})
	world.SetClock(time.Date(2024, 5, 3, 23, 59, 0, 0, time.UTC))
	late := world.Post(general, slackserver.Message{User: ada, Text: "late"})

	source := openWith(t, world, settings(world, nil))
	items, warnings := walk(t, source)
	want := []string{general + "/2024-05-01", general + "/2024-05-03", general + "/" + root, picture}
	slices.Sort(want)
	if got := idsOf(items); !slices.Equal(got, want) || len(warnings) != 0 {
		t.Fatalf("the items are %q, want %q; warnings %q", got, want, warnings)
	}
	day := items[general+"/2024-05-01"]
	if day.Path != "#general/2024-05-01" || day.URL != "https://magpies.slack.com/archives/"+general+"/p"+strings.Replace(hello, ".", "", 1) || day.MediaType != "text/markdown; charset=utf-8" {
		t.Errorf("the day is %+v", day)
	}
	if got, want := content(t, source, day), "# #general, 1 May 2024\n\n## 09:00 UTC\n\n"+
		"**Ada Lovelace** 09:00: Good morning, @Grace Hopper! See [the plan](https://example.com/plan) in #general.\n\n"+
		"**Grace Hopper** 09:00 began a thread: How do we deploy the walrus?\n"; got != want {
		t.Errorf("the day says\n%s\nwant\n%s", got, want)
	}
	thread := items[general+"/"+root]
	if thread.Path != "#general/2024-05-01 How do we deploy the walrus?-"+root || thread.Author != "Grace Hopper" || thread.Title != "How do we deploy the walrus?" {
		t.Errorf("the thread is %+v", thread)
	}
	if got, want := content(t, source, thread), "# How do we deploy the walrus?\n\nIn #general\n\n"+
		"**Grace Hopper** 2024-05-01 09:00\n\nHow do we **deploy** the `walrus`?\\\nIt fails with\n\n```\nexit 1 & out\n```\n\n"+
		"**Ada Lovelace** 2024-05-01 09:00\n\n\\# run make up \\<now>\n\n- one\n- two\n"; got != want {
		t.Errorf("the thread says\n%s\nwant\n%s", got, want)
	}
	file := items[picture]
	if file.Path != "#general/files/a report-"+picture+".md" || file.Title != "a report.md" || content(t, source, file) != "# Report" || file.Author != "Ada Lovelace" {
		t.Errorf("the file is %+v", file)
	}
	if !strings.Contains(content(t, source, items[general+"/2024-05-03"]), "23:59") {
		t.Errorf("the last day does not have %s", late)
	}

	// Resolve by id and by path returns the items of the walk.
	var names []string
	for id, item := range items {
		names = append(names, id, item.Path)
	}
	found, missing, err := source.(connectors.Resolver).Resolve(t.Context(), append(names, general+"/2024-05-02", general+"/1.000001", "F404404", "#elsewhere/2024-05-01"))
	if err != nil || len(found) != len(items) || len(missing) != 4 {
		t.Fatalf("resolved %d, missing %q, %v", len(found), missing, err)
	}
	for _, item := range found {
		walked := items[item.ID]
		item.Content, walked.Content = nil, nil
		if fmt.Sprint(item) != fmt.Sprint(walked) {
			t.Errorf("resolved %+v, walked %+v", item, walked)
		}
	}
	_ = reply
}
