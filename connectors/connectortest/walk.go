package connectortest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors"
)

// putMany fills a source with items "folder/item-00000.md" and returns their
// paths.
func putMany(t *testing.T, fixture Fixture, count int) map[string]bool {
	t.Helper()
	const workers = 8
	paths := make(map[string]bool, count)
	for number := range count {
		// Names on both sides of a slash in the order of bytes: a source that
		// walks folder by folder gets their order wrong.
		paths[fmt.Sprintf("%s/item-%05d.md", []string{"guide", "guide-old", "guide/deep", "guide.d"}[number%4], number)] = true
	}
	next := make(chan string)
	var work sync.WaitGroup
	for range workers {
		work.Go(func() {
			for path := range next {
				fixture.Put(t, path, []byte("content of "+path))
			}
		})
	}
	for path := range paths {
		next <- path
	}
	close(next)
	work.Wait()
	return paths
}

func emptySourceEnds(t *testing.T, setup Setup) {
	if items := itemsOf(walk(t, setup.open(t), "")); len(items) != 0 {
		t.Errorf("an empty source names %d items", len(items))
	}
}

// walkNamesEveryItem also goes on from every cursor in a new source, as after
// a restart, and compares walks with each other.
func walkNamesEveryItem(t *testing.T, setup Setup) {
	count := setup.Items
	if count == 0 {
		count = 2*connectors.MaxPageItems + 203
	}
	paths := putMany(t, setup.Fixture, count)
	pages := walk(t, setup.open(t), "")
	if len(pages) < 3 {
		t.Errorf("%d items came in %d pages, the test needs 3", count, len(pages))
	}
	items := itemsOf(pages)
	ids := make(map[string]bool, len(items))
	for _, item := range items {
		if ids[item.ID] {
			t.Errorf("the id %q was named twice", item.ID)
		}
		ids[item.ID] = true
		if !paths[item.Path] {
			t.Errorf("the path %q was named twice or never put", item.Path)
		}
		delete(paths, item.Path)
		checkItem(t, item)
	}
	if len(paths) > 0 {
		t.Errorf("%d of %d items were not named", len(paths), count)
	}

	cursor := ""
	for at, page := range pages {
		rest := itemsOf(walk(t, setup.open(t), cursor))
		if want := itemsOf(pages[at:]); !reflect.DeepEqual(rest, want) {
			t.Errorf("going on from the cursor of page %d: got %d items, want %d, or they differ", at, len(rest), len(want))
		}
		cursor = page.Next
	}
}

func checkItem(t *testing.T, item connectors.Item) {
	t.Helper()
	switch {
	case item.ID == "" || len(item.ID) > connectors.MaxIDBytes || !utf8.ValidString(item.ID):
		t.Errorf("improper id %q", item.ID)
	case item.Path == "" || len(item.Path) > connectors.MaxIDBytes || strings.HasPrefix(item.Path, "/"):
		t.Errorf("item %q: improper path %q", item.ID, item.Path)
	case item.Size < -1:
		t.Errorf("item %q: size %d", item.ID, item.Size)
	case item.ModifiedAt.Location().String() != "UTC" || item.CreatedAt.Location().String() != "UTC":
		t.Errorf("item %q: its times are not in UTC", item.ID)
	}
}

func changesAreSeen(t *testing.T, setup Setup) {
	source := setup.open(t)
	for _, path := range []string{"changed.md", "same.md", "deleted.md"} {
		setup.Fixture.Put(t, path, []byte("first"))
	}
	before := walked(t, source)
	if len(before) != 3 {
		t.Fatalf("%d items, want 3", len(before))
	}
	setup.Fixture.Put(t, "changed.md", []byte("other"))
	setup.Fixture.Delete(t, "deleted.md")
	setup.Fixture.Put(t, "new.md", []byte("new"))
	after := walked(t, source)

	if !reflect.DeepEqual(before["same.md"], after["same.md"]) {
		t.Errorf("the untouched item differs: %+v, then %+v", before["same.md"], after["same.md"])
	}
	if before["changed.md"].ID != after["changed.md"].ID {
		t.Errorf("the id changed with the content: %q, then %q", before["changed.md"].ID, after["changed.md"].ID)
	}
	if version := after["changed.md"].Version; version != "" && version == before["changed.md"].Version {
		t.Errorf("the version %q did not change with the content", version)
	}
	if _, still := after["deleted.md"]; still {
		t.Error("the deleted item is still named")
	}
	if _, there := after["new.md"]; !there {
		t.Error("the new item is not named")
	}
	expectContent(t, source, after["changed.md"], []byte("other"))
}

func walkStopsWhenCanceled(t *testing.T, setup Setup) {
	putMany(t, setup.Fixture, connectors.MaxPageItems+1)
	source := setup.open(t)
	canceled, cancel := context.WithCancel(t.Context())
	first, err := source.Walk(canceled, "")
	if err != nil || first.Done {
		t.Fatalf("first page: done %v, %v; the test needs another one", first.Done, err)
	}
	cancel()
	for _, cursor := range []string{"", first.Next} {
		if page, err := source.Walk(canceled, cursor); !errors.Is(err, context.Canceled) {
			t.Errorf("walk from %q when canceled: got %d items, %v; want canceled", cursor, len(page.Items), err)
		}
	}
	if page, err := source.Walk(t.Context(), first.Next); err != nil || !page.Done {
		t.Errorf("going on after a cancellation: done %v, %v", page.Done, err)
	}
}

func foreignCursorsDoNoHarm(t *testing.T, setup Setup) {
	setup.Fixture.Put(t, "docs/a.md", []byte("a"))
	setup.Fixture.Put(t, "docs/b.md", []byte("b"))
	source := setup.open(t)
	known := walked(t, source)
	for _, cursor := range []string{
		" ", "0", "-1", "99999999999999999999", "null", "{}", `{"after":"a"}`, "\x00", "a\x00b", "\xff\xfe", "../../etc/passwd",
		"'; DROP TABLE x; --", "%00", "%s%n", "<xml/>", "&amp;", "\r\nHost: x", strings.Repeat("z", 5000), strings.Repeat("é", 512),
		"docs/a.md", "docs/a", "docs/", "zzzz", "\U0010ffff",
	} {
		for range maxPages {
			page, err := source.Walk(t.Context(), cursor)
			if err != nil || page.Done {
				checkKnown(t, known, page)
				break
			}
			checkKnown(t, known, page)
			if page.Next == cursor {
				t.Errorf("the cursor %.40q goes round", cursor)
				break
			}
			cursor = page.Next
		}
	}
	if again := walked(t, source); !reflect.DeepEqual(again, known) {
		t.Error("the source walks differently after foreign cursors")
	}
}

func checkKnown(t *testing.T, known map[string]connectors.Item, page connectors.Page) {
	t.Helper()
	for _, item := range page.Items {
		if !reflect.DeepEqual(known[item.Path], item) {
			t.Errorf("a foreign cursor brought the item %q", item.ID)
		}
	}
}

func resolveFindsPaths(t *testing.T, setup Setup) {
	source := setup.open(t)
	resolver, ok := source.(connectors.Resolver)
	if !ok {
		return // an optional ability
	}
	for _, path := range append([]string{"a.md", "docs/b.md", "docs/deep/c.md"}, setup.OddPaths...) {
		setup.Fixture.Put(t, path, []byte("content of "+path))
	}
	known := walked(t, source)
	wrong := []string{
		"docs", "docs/", "docs/b", "docs/b.md/x", "nothing.md", "", "/", ".", "..", "../a.md", "docs/../a.md", "A.MD", "\x00", "\xff",
		"a.md\n", "*.md", strings.Repeat("long/", 1000),
	}
	var asked []string
	for path := range known {
		asked = append(asked, path)
	}
	asked = append(asked, wrong...)
	asked = append(asked, "a.md") // twice

	found, missing, err := resolver.Resolve(t.Context(), asked)
	if err != nil {
		t.Fatalf("resolve: %v", err)
	}
	byPath := make(map[string]connectors.Item)
	for _, item := range found {
		if _, twice := byPath[item.Path]; twice {
			t.Errorf("%q was found twice", item.Path)
		}
		byPath[item.Path] = item
	}
	if !reflect.DeepEqual(byPath, known) {
		t.Errorf("found %v, want what the walk names: %v", byPath, known)
	}
	if !reflect.DeepEqual(missing, wrong) {
		t.Errorf("missing %q, want %q", missing, wrong)
	}

	if found, missing, err := resolver.Resolve(t.Context(), nil); err != nil || len(found)+len(missing) != 0 {
		t.Errorf("resolve nothing: %v, %v, %v", found, missing, err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := resolver.Resolve(canceled, asked); !errors.Is(err, context.Canceled) {
		t.Errorf("resolve when canceled: got %v, want canceled", err)
	}
}

// resolveFindsIDs is for kinds that are told of changes: a delivery names ids.
func resolveFindsIDs(t *testing.T, setup Setup) {
	source := setup.open(t)
	resolver, ok := source.(connectors.Resolver)
	if !ok || setup.Kind.Webhook == nil {
		return
	}
	for _, path := range []string{"a.md", "docs/b.md"} {
		setup.Fixture.Put(t, path, []byte("content of "+path))
	}
	known := walked(t, source)
	var ids []string
	for _, item := range known {
		ids = append(ids, item.ID)
	}
	found, missing, err := resolver.Resolve(t.Context(), append(ids, "no-such-id"))
	if err != nil || len(found) != len(ids) || !reflect.DeepEqual(missing, []string{"no-such-id"}) {
		t.Fatalf("resolve %q: %d items, missing %q, %v", ids, len(found), missing, err)
	}
	for _, item := range found {
		if !reflect.DeepEqual(known[item.Path], item) {
			t.Errorf("found %+v, the walk names %+v", item, known[item.Path])
		}
	}
}
