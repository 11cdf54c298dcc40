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

// putMany puts count items, such as "guide/item-00000.md", and returns their
// paths.
func putMany(t *testing.T, fixture Fixture, count int) map[string]bool {
	t.Helper()
	const workers = 8
	paths := make(map[string]bool, count)
	for number := range count {
		// Folders that sort before and after "guide/": a source that walks folder by
		// folder lists them in another order than that of bytes.
		paths[fmt.Sprintf("%s/item-%05d.md", []string{"guide", "guide-old", "guide/deep", "guide.d"}[number%4], number)] = true
	}
	next := make(chan string)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for path := range next {
				fixture.Put(t, path, []byte("content of "+path))
			}
		})
	}
	for path := range paths {
		next <- path
	}
	close(next)
	group.Wait()
	return paths
}

func emptySourceEnds(t *testing.T, setup Setup) {
	if items := itemsOf(walk(t, setup.open(t), "")); len(items) != 0 {
		t.Errorf("an empty source lists %d items", len(items))
	}
}

// walkListsEveryItemOnce also continues from every cursor in a new source, as
// after a restart, and compares the walks.
func walkListsEveryItemOnce(t *testing.T, setup Setup) {
	count := setup.ItemCount
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
			t.Errorf("the id %q is listed twice", item.ID)
		}
		ids[item.ID] = true
		if !paths[item.Path] {
			t.Errorf("the path %q is listed twice or was never put", item.Path)
		}
		delete(paths, item.Path)
		checkItem(t, item)
	}
	if len(paths) > 0 {
		t.Errorf("%d of %d items are not listed", len(paths), count)
	}

	cursor := ""
	for at, page := range pages {
		rest := itemsOf(walk(t, setup.open(t), cursor))
		if want := itemsOf(pages[at:]); !reflect.DeepEqual(rest, want) {
			t.Errorf("walk from the cursor of page %d: got %d items, want %d, or they differ", at, len(rest), len(want))
		}
		cursor = page.Next
	}
}

func checkItem(t *testing.T, item connectors.Item) {
	t.Helper()
	switch {
	case item.ID == "" || len(item.ID) > connectors.MaxIDBytes || !utf8.ValidString(item.ID):
		t.Errorf("invalid id %q", item.ID)
	case item.Path == "" || len(item.Path) > connectors.MaxIDBytes || strings.HasPrefix(item.Path, "/"):
		t.Errorf("item %q: invalid path %q", item.ID, item.Path)
	case item.Size < -1:
		t.Errorf("item %q: size %d", item.ID, item.Size)
	case item.ModifiedAt.Location().String() != "UTC" || item.CreatedAt.Location().String() != "UTC":
		t.Errorf("item %q: its times are not in UTC", item.ID)
	}
}

func changesAreDetected(t *testing.T, setup Setup) {
	source := setup.open(t)
	for _, path := range []string{"changed.md", "same.md", "deleted.md"} {
		setup.Fixture.Put(t, path, []byte("first"))
	}
	before := itemsByPath(t, source)
	if len(before) != 3 {
		t.Fatalf("%d items, want 3", len(before))
	}
	setup.Fixture.Put(t, "changed.md", []byte("other"))
	setup.Fixture.Delete(t, "deleted.md")
	setup.Fixture.Put(t, "new.md", []byte("new"))
	after := itemsByPath(t, source)

	if !reflect.DeepEqual(before["same.md"], after["same.md"]) {
		t.Errorf("the unchanged item changed from %+v to %+v", before["same.md"], after["same.md"])
	}
	if before["changed.md"].ID != after["changed.md"].ID {
		t.Errorf("the id changed with the content, from %q to %q", before["changed.md"].ID, after["changed.md"].ID)
	}
	if version := after["changed.md"].Version; version != "" && version == before["changed.md"].Version {
		t.Errorf("the version %q did not change with the content", version)
	}
	if _, exists := after["deleted.md"]; exists {
		t.Error("the deleted item is still listed")
	}
	if _, isListed := after["new.md"]; !isListed {
		t.Error("the new item is not listed")
	}
	expectContent(t, source, after["changed.md"], []byte("other"))
}

func walkStopsWhenCanceled(t *testing.T, setup Setup) {
	putMany(t, setup.Fixture, connectors.MaxPageItems+1)
	source := setup.open(t)
	canceled, cancel := context.WithCancel(t.Context())
	first, err := source.Walk(canceled, "")
	if err != nil || first.Done {
		t.Fatalf("first page: done %v, %v; the test needs a second page", first.Done, err)
	}
	cancel()
	for _, cursor := range []string{"", first.Next} {
		if page, err := source.Walk(canceled, cursor); !errors.Is(err, context.Canceled) {
			t.Errorf("Walk(%q) when canceled = %d items, %v; want canceled", cursor, len(page.Items), err)
		}
	}
	if page, err := source.Walk(t.Context(), first.Next); err != nil || !page.Done {
		t.Errorf("Walk after a cancellation: done %v, %v", page.Done, err)
	}
}

func unknownCursorsAreHarmless(t *testing.T, setup Setup) {
	setup.Fixture.Put(t, "docs/a.md", []byte("a"))
	setup.Fixture.Put(t, "docs/b.md", []byte("b"))
	source := setup.open(t)
	known := itemsByPath(t, source)
	for _, cursor := range []string{
		" ", "0", "-1", "99999999999999999999", "null", "{}", `{"after":"a"}`, "\x00", "a\x00b", "\xff\xfe", "../../etc/passwd",
		"'; DROP TABLE x; --", "%00", "%s%n", "<xml/>", "&amp;", "\r\nHost: x", strings.Repeat("z", 5000), strings.Repeat("é", 512),
		"docs/a.md", "docs/a", "docs/", "zzzz", "\U0010ffff",
	} {
		for range maxPages {
			page, err := source.Walk(t.Context(), cursor)
			if err != nil || page.Done {
				expectKnownItems(t, known, page)
				break
			}
			expectKnownItems(t, known, page)
			if page.Next == cursor {
				t.Errorf("the cursor %.40q leads to itself", cursor)
				break
			}
			cursor = page.Next
		}
	}
	if after := itemsByPath(t, source); !reflect.DeepEqual(after, known) {
		t.Error("the walk differs after unknown cursors")
	}
}

func expectKnownItems(t *testing.T, known map[string]connectors.Item, page connectors.Page) {
	t.Helper()
	for _, item := range page.Items {
		if !reflect.DeepEqual(known[item.Path], item) {
			t.Errorf("an unknown cursor returned the item %q", item.ID)
		}
	}
}

func resolveFindsPaths(t *testing.T, setup Setup) {
	source := setup.open(t)
	resolver, ok := source.(connectors.Resolver)
	if !ok {
		return
	}
	for _, path := range append([]string{"a.md", "docs/b.md", "docs/deep/c.md"}, setup.UnusualPaths...) {
		setup.Fixture.Put(t, path, []byte("content of "+path))
	}
	known := itemsByPath(t, source)
	absent := []string{
		"docs", "docs/", "docs/b", "docs/b.md/x", "nothing.md", "", "/", ".", "..", "../a.md", "docs/../a.md", "A.MD", "\x00", "\xff",
		"a.md\n", "*.md", strings.Repeat("long/", 1000),
	}
	var names []string
	for path := range known {
		names = append(names, path)
	}
	names = append(names, absent...)
	names = append(names, "a.md") // a second time

	found, missing, err := resolver.Resolve(t.Context(), names)
	if err != nil {
		t.Fatalf("Resolve: %v", err)
	}
	byPath := make(map[string]connectors.Item)
	for _, item := range found {
		if _, twice := byPath[item.Path]; twice {
			t.Errorf("Resolve returned %q twice", item.Path)
		}
		byPath[item.Path] = item
	}
	if !reflect.DeepEqual(byPath, known) {
		t.Errorf("Resolve = %v, the walk lists %v", byPath, known)
	}
	if !reflect.DeepEqual(missing, absent) {
		t.Errorf("Resolve: missing = %q, want %q", missing, absent)
	}

	if found, missing, err := resolver.Resolve(t.Context(), nil); err != nil || len(found)+len(missing) != 0 {
		t.Errorf("Resolve(nil) = %v, %v, %v", found, missing, err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := resolver.Resolve(canceled, names); !errors.Is(err, context.Canceled) {
		t.Errorf("Resolve when canceled = %v, want canceled", err)
	}
}

// resolveFindsIDs applies to kinds whose items are looked up by id.
func resolveFindsIDs(t *testing.T, setup Setup) {
	source := setup.open(t)
	resolver, ok := source.(connectors.Resolver)
	if !ok || setup.Kind.Webhook == nil && !setup.Kind.Feeds && !setup.Kind.ConfirmDeletions {
		return
	}
	for _, path := range []string{"a.md", "docs/b.md"} {
		setup.Fixture.Put(t, path, []byte("content of "+path))
	}
	known := itemsByPath(t, source)
	var ids []string
	for _, item := range known {
		ids = append(ids, item.ID)
	}
	found, missing, err := resolver.Resolve(t.Context(), append(ids, "no-such-id"))
	if err != nil || len(found) != len(ids) || !reflect.DeepEqual(missing, []string{"no-such-id"}) {
		t.Fatalf("Resolve(%q) = %d items, missing %q, %v", ids, len(found), missing, err)
	}
	for _, item := range found {
		if !reflect.DeepEqual(known[item.Path], item) {
			t.Errorf("Resolve returned %+v, the walk lists %+v", item, known[item.Path])
		}
	}
}
