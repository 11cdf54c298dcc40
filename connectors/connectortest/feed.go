package connectortest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
)

// A copyOfSource is what a sync knows of a source that it walked once: the items by
// id. Changes are applied to it.
type copyOfSource struct {
	t      *testing.T
	feeder connectors.Feeder
	items  map[string]connectors.Item
	token  string // of the next read
	// The changes of the last read, by id.
	listed, gone, readers map[string]bool
}

// openFeed opens the source of a kind that feeds and copies it as a sync does: the
// token of the present comes first.
func openFeed(t *testing.T, setup Setup) (connectors.Source, *copyOfSource) {
	t.Helper()
	source := setup.open(t)
	feeder, ok := source.(connectors.Feeder)
	if !ok {
		t.Fatal("the source is no Feeder")
	}
	c := &copyOfSource{t: t, feeder: feeder, items: map[string]connectors.Item{}}
	c.token = c.present()
	for _, item := range itemsOf(walk(t, source, "")) {
		c.items[item.ID] = item
	}
	return source, c
}

// present returns the token of the present.
func (c *copyOfSource) present() string {
	c.t.Helper()
	page, err := c.feeder.Changes(c.t.Context(), "")
	if err != nil {
		c.t.Fatalf("Changes of the present: %v", err)
	}
	if page.Next == "" || page.More || page.Expired || len(page.Items)+len(page.Gone)+len(page.Permissions) > 0 {
		c.t.Fatalf("Changes of the present = %+v, want only a token", page)
	}
	return page.Next
}

// readPage reads and applies one page and reports whether there are more.
func (c *copyOfSource) readPage() bool {
	c.t.Helper()
	page, err := c.feeder.Changes(c.t.Context(), c.token)
	if err != nil {
		c.t.Fatalf("Changes: %v", err)
	}
	switch {
	case page.Expired:
		c.t.Fatalf("the token %.100q has expired", c.token)
	case len(page.Items) > connectors.MaxPageItems:
		c.t.Fatalf("a page has %d items, at most %d are allowed", len(page.Items), connectors.MaxPageItems)
	case page.Next == "" || len(page.Next) > connectors.MaxTokenBytes:
		c.t.Fatalf("the next token has %d bytes, it must have 1 to %d", len(page.Next), connectors.MaxTokenBytes)
	case page.More && page.Next == c.token:
		c.t.Fatalf("the token %.100q leads to itself", c.token)
	}
	for _, id := range page.Gone {
		delete(c.items, id)
		c.gone[id] = true
	}
	onPage := map[string]bool{}
	for _, item := range page.Items {
		checkItem(c.t, item)
		if onPage[item.ID] {
			c.t.Errorf("a page has %q twice", item.ID)
		}
		c.items[item.ID], onPage[item.ID], c.listed[item.ID] = item, true, true
	}
	for _, id := range page.Permissions {
		c.readers[id] = true
	}
	c.token = page.Next
	return page.More
}

// read reads and applies all changes.
func (c *copyOfSource) read() {
	c.t.Helper()
	c.listed, c.gone, c.readers = map[string]bool{}, map[string]bool{}, map[string]bool{}
	for range maxPages {
		if !c.readPage() {
			return
		}
	}
	c.t.Fatalf("the changes have not ended after %d pages", maxPages)
}

// expectWalk compares the copy with a walk.
func (c *copyOfSource) expectWalk(source connectors.Source, when string, setup Setup) {
	c.t.Helper()
	known := maps.Clone(c.items)
	for _, item := range itemsOf(walk(c.t, source, "")) {
		if got, exists := known[item.ID]; !exists {
			c.t.Errorf("%s: the changes lack %q (%s)", when, item.ID, item.Path)
		} else if !reflect.DeepEqual(got, item) {
			c.t.Errorf("%s: by the changes an item is %+v, the walk lists %+v", when, got, item)
		}
		delete(known, item.ID)
	}
	for id, item := range known {
		if !setup.FeedOmitsDeletions {
			c.t.Errorf("%s: by the changes %q (%s) is still there", when, id, item.Path)
		}
	}
}

func feedBeginsAtThePresent(t *testing.T, setup Setup) {
	if !setup.Kind.Feeds {
		return
	}
	_, empty := openFeed(t, setup)
	empty.read()
	setup.Fixture.Put(t, "docs/a.md", []byte("first"))
	empty.read()
	if len(empty.items) != 1 {
		t.Errorf("after the first item there are %d by the changes", len(empty.items))
	}
	_, c := openFeed(t, setup)
	before := maps.Clone(c.items)
	c.read()
	if len(c.gone) > 0 || !reflect.DeepEqual(c.items, before) {
		t.Errorf("without a change, the items become %v and gone are %v", c.items, c.gone)
	}
}

// feedReportsChanges also reads the same changes twice, in a new source, as after a
// crash.
func feedReportsChanges(t *testing.T, setup Setup) {
	if !setup.Kind.Feeds {
		return
	}
	for _, path := range []string{"docs/changed.md", "docs/same.md", "deleted.md", "replaced.md"} {
		setup.Fixture.Put(t, path, []byte("first"))
	}
	source, c := openFeed(t, setup)
	ids := map[string]string{}
	for id, item := range c.items {
		ids[item.Path] = id
	}
	start := *c
	start.items = maps.Clone(c.items)
	setup.Fixture.Put(t, "docs/changed.md", []byte("second"))
	setup.Fixture.Put(t, "docs/changed.md", []byte("third"))
	setup.Fixture.Put(t, "new.md", []byte("new"))
	setup.Fixture.Delete(t, "deleted.md")
	setup.Fixture.Put(t, "brief.md", []byte("is deleted at once"))
	setup.Fixture.Delete(t, "brief.md")
	c.read()
	c.expectWalk(source, "after changes", setup)
	if !c.listed[ids["docs/changed.md"]] {
		t.Error("the change of an item is not reported")
	}
	if !setup.FeedOmitsDeletions && !c.gone[ids["deleted.md"]] {
		t.Error("the deletion of an item is not reported")
	}
	if !c.listed[itemAt(t, source, "new.md").ID] {
		t.Error("a new item is not reported")
	}
	for _, item := range c.items {
		if item.Path == "docs/changed.md" {
			expectContent(t, source, item, []byte("third"))
		}
	}

	again, ok := setup.open(t).(connectors.Feeder)
	if !ok {
		t.Fatal("the source is no Feeder any more")
	}
	start.feeder = again
	start.read()
	if !reflect.DeepEqual(start.items, c.items) {
		t.Errorf("the same token gives %v, before it gave %v", start.items, c.items)
	}
	known := maps.Clone(c.items)
	c.read()
	if !reflect.DeepEqual(c.items, known) {
		t.Error("a second read changes items that did not change")
	}
}

func feedReportsMoves(t *testing.T, setup Setup) {
	if !setup.Kind.Feeds || setup.Move == nil {
		return
	}
	for _, path := range []string{"old/a.md", "old/deep/b.md", "older/c.md", "d.md"} {
		setup.Fixture.Put(t, path, []byte("content of "+path))
	}
	source, c := openFeed(t, setup)
	ids := map[string]string{}
	for id, item := range c.items {
		ids[item.Path] = id
	}
	start := *c
	start.items = maps.Clone(c.items)
	restore := keepState(t, setup.Settings.State)
	setup.Move(t, "old", "new")
	c.read()
	c.expectWalk(source, "after a folder was moved", setup)
	// A sync that died reads the changes again, in a new source with the state from
	// before.
	restore()
	again, ok := setup.open(t).(connectors.Feeder)
	if !ok {
		t.Fatal("the source is no Feeder any more")
	}
	start.feeder = again
	start.read()
	start.expectWalk(source, "after a folder was moved, from the same token", setup)
	for from, to := range map[string]string{"old/a.md": "new/a.md", "old/deep/b.md": "new/deep/b.md", "older/c.md": "older/c.md", "d.md": "d.md"} {
		if got := c.items[ids[from]].Path; got != to {
			t.Errorf("%s is at %q now, want %q", from, got, to)
		}
	}
	if len(c.gone) > 0 {
		t.Errorf("after a folder was moved, gone are %v", c.gone)
	}
	setup.Move(t, "d.md", "new/deep/d.md")
	setup.Move(t, "new/deep", "old")
	c.read()
	c.expectWalk(source, "after a file and its folder were moved", setup)
	if got := c.items[ids["d.md"]].Path; got != "old/d.md" {
		t.Errorf("a file that was moved with its folder is at %q", got)
	}
}

// keepState returns a function that restores a state as it is now.
func keepState(t *testing.T, state connectors.State) (restore func()) {
	t.Helper()
	if state == nil {
		return func() {}
	}
	expect := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	keys, err := state.Keys(t.Context(), "")
	expect(err)
	kept := map[string][]byte{}
	for _, key := range keys {
		kept[key], err = state.Get(t.Context(), key)
		expect(err)
	}
	return func() {
		expect(state.DeletePrefix(t.Context(), ""))
		for key, value := range kept {
			expect(state.Put(t.Context(), key, value))
		}
	}
}

func feedReportsReaders(t *testing.T, setup Setup) {
	if !setup.Kind.Feeds || setup.ChangeReaders == nil {
		return
	}
	for _, path := range []string{"docs/a.md", "docs/b.md"} {
		setup.Fixture.Put(t, path, []byte("content of "+path))
	}
	source, c := openFeed(t, setup)
	lister, ok := source.(connectors.PermissionLister)
	if !ok {
		t.Fatal("the source is no PermissionLister")
	}
	item := itemAt(t, source, "docs/a.md")
	setup.ChangeReaders(t, "docs/a.md")
	c.read()
	if !c.readers[item.ID] {
		t.Errorf("the change of readers is not reported: %v", c.readers)
	}
	whole, err := lister.Readers(t.Context(), []connectors.Item{item})
	if err != nil {
		t.Fatalf("Readers: %v", err)
	}
	bare := connectors.Item{ID: item.ID, Path: item.Path, Version: item.Version, Container: item.Container, Size: -1}
	known, err := lister.Readers(t.Context(), []connectors.Item{bare})
	if err != nil || !reflect.DeepEqual(known, whole) {
		t.Errorf("Readers of an item as the ledger has it = %v, %v; want %v", known, err, whole)
	}
}

// feedEqualsWalk changes the source at random, reads pages in between, and compares
// the copy with a walk.
func feedEqualsWalk(t *testing.T, setup Setup) {
	if !setup.Kind.Feeds {
		return
	}
	const rounds, steps = 6, 12
	dice := rand.New(rand.NewPCG(22, 4)) //nolint:gosec // a repeatable test
	var paths []string
	put := func(path string) { setup.Fixture.Put(t, path, fmt.Appendf(nil, "content %d", dice.Uint32())) }
	for n := range 5 {
		paths = append(paths, fmt.Sprintf("start/%d.md", n))
		put(paths[n])
	}
	source, c := openFeed(t, setup)
	c.listed, c.gone, c.readers = map[string]bool{}, map[string]bool{}, map[string]bool{}
	for round := range rounds {
		for step := range steps {
			at := dice.IntN(len(paths))
			switch choice := dice.IntN(10); {
			case choice < 3 || len(paths) < 4:
				path := fmt.Sprintf("%s/%d-%d.md", []string{"start", "mid", "mid/deep"}[dice.IntN(3)], round, step)
				paths = append(paths, path)
				put(path)
			case choice < 6:
				put(paths[at])
			case choice < 8:
				setup.Fixture.Delete(t, paths[at])
				paths = slices.Delete(paths, at, at+1)
			case setup.Move != nil && strings.HasPrefix(paths[at], "mid/"):
				to := fmt.Sprintf("moved-%d-%d", round, step)
				setup.Move(t, "mid", to)
				for i, path := range paths {
					if rest, inside := strings.CutPrefix(path, "mid/"); inside {
						paths[i] = to + "/" + rest
					}
				}
			case setup.Move != nil:
				to := fmt.Sprintf("single-%d-%d.md", round, step)
				setup.Move(t, paths[at], to)
				paths[at] = to
			default:
				c.readPage()
			}
		}
		c.read()
		c.expectWalk(source, fmt.Sprintf("after round %d", round), setup)
	}
}

func feedTokensExpire(t *testing.T, setup Setup) {
	if !setup.Kind.Feeds {
		return
	}
	setup.Fixture.Put(t, "docs/a.md", []byte("a"))
	source, c := openFeed(t, setup)
	// Another version of Magpie may have stored a token in another form.
	for _, token := range []string{" ", "0", "null", "{}", `{"next":"https://example.com/"}`, "\x00", "\xff", strings.Repeat("z", 5000), c.token + "x"} {
		page, err := c.feeder.Changes(t.Context(), token)
		if err != nil || !page.Expired {
			t.Errorf("Changes of the invented token %.40q = %+v, %v; want Expired", token, page, err)
		}
	}
	if setup.ExpireTokens != nil {
		setup.Fixture.Put(t, "docs/b.md", []byte("b"))
		setup.ExpireTokens(t)
		if page, err := c.feeder.Changes(t.Context(), c.token); err != nil || !page.Expired {
			t.Errorf("Changes of an expired token = %+v, %v; want Expired", page, err)
		}
		c.token = c.present()
		for _, item := range itemsOf(walk(t, source, "")) {
			c.items[item.ID] = item
		}
	}
	setup.Fixture.Put(t, "docs/c.md", []byte("c"))
	c.read()
	c.expectWalk(source, "after tokens expired", setup)
}

func feedStopsWhenCanceled(t *testing.T, setup Setup) {
	if !setup.Kind.Feeds {
		return
	}
	setup.Fixture.Put(t, "docs/a.md", []byte("a"))
	_, c := openFeed(t, setup)
	setup.Fixture.Put(t, "docs/b.md", []byte("b"))
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, token := range []string{"", c.token} {
		if page, err := c.feeder.Changes(canceled, token); !errors.Is(err, context.Canceled) {
			t.Errorf("Changes(%.40q) when canceled = %+v, %v; want canceled", token, page, err)
		}
	}
	c.read()
	if len(c.items) != 2 {
		t.Errorf("after a cancellation there are %d items by the changes, want 2", len(c.items))
	}
}

// incompleteWalksAreMarked checks that a walk that omits an item names its container.
func incompleteWalksAreMarked(t *testing.T, setup Setup) {
	if setup.Lock == nil {
		return
	}
	for _, path := range []string{"docs/a.md", "docs/b.md"} {
		setup.Fixture.Put(t, path, []byte("content of "+path))
	}
	source := setup.open(t)
	before := itemsByPath(t, source)
	unlock := setup.Lock(t, "docs/a.md")
	pages := walk(t, source, "")
	seen, incomplete, warned := map[string]bool{}, map[string]bool{}, false
	for _, page := range pages {
		for _, item := range page.Items {
			seen[item.Path] = true
		}
		for _, container := range page.Incomplete {
			incomplete[container] = true
		}
		warned = warned || len(page.Warnings) > 0
	}
	for path, item := range before {
		if !seen[path] && !incomplete[item.Container] && !incomplete[""] {
			t.Errorf("the walk omits %q of the container %q, which it does not name: %v", path, item.Container, incomplete)
		}
	}
	if len(incomplete) == 0 || !warned {
		t.Errorf("a container is locked, and the walk names %v, with a warning: %v", incomplete, warned)
	}
	unlock()
	if after := itemsByPath(t, source); !reflect.DeepEqual(after, before) {
		t.Errorf("after the container was unlocked, the walk lists %v, want %v", after, before)
	}
}
