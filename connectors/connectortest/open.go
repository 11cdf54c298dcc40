package connectortest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/magpie-search/magpie/connectors"
)

func openReturnsTheContent(t *testing.T, setup Setup) {
	source := setup.open(t)
	contents := map[string][]byte{
		"empty.txt":  {},
		"short.md":   []byte("# Short"),
		"binary.dat": bytes.Repeat([]byte{0, 1, 0xfe, 0xff, '\r', '\n'}, 5000),
		"large.csv":  bytes.Repeat([]byte("a,b,c,d,e,f,g\n"), 400_000),
		"gzip.gz":    {0x1f, 0x8b, 0x08, 0x00, 0x00},
	}
	for path, content := range contents {
		setup.Fixture.Put(t, path, content)
	}
	items := itemsByPath(t, source)
	for path, content := range contents {
		expectContent(t, source, items[path], content)
	}

	// A caller may read only the start.
	reader, err := source.Open(t.Context(), items["large.csv"])
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	start := make([]byte, 14)
	if _, err := io.ReadFull(reader, start); err != nil || string(start) != "a,b,c,d,e,f,g\n" {
		t.Errorf("the start: %q, %v", start, err)
	}
	if err := reader.Close(); err != nil {
		t.Errorf("Close before the end: %v", err)
	}
	expectContent(t, source, items["large.csv"], contents["large.csv"])
}

func unusualPathsWork(t *testing.T, setup Setup) {
	source := setup.open(t)
	for _, path := range setup.UnusualPaths {
		setup.Fixture.Put(t, path, []byte("content of "+path))
	}
	items := itemsByPath(t, source)
	if len(items) != len(setup.UnusualPaths) {
		t.Errorf("the walk lists %d items, want %d", len(items), len(setup.UnusualPaths))
	}
	for _, path := range setup.UnusualPaths {
		item, ok := items[path]
		if !ok {
			t.Errorf("the walk does not list %q", path)
			continue
		}
		checkItem(t, item)
		expectContent(t, source, item, []byte("content of "+path))
	}
}

func openReportsMissingItems(t *testing.T, setup Setup) {
	source := setup.open(t)
	setup.Fixture.Put(t, "kept.md", []byte("kept"))
	setup.Fixture.Put(t, "gone.md", []byte("gone"))
	deleted, other := itemAt(t, source, "gone.md"), itemAt(t, source, "kept.md")
	setup.Fixture.Delete(t, "gone.md")
	if content, err := readContent(t.Context(), source, deleted); !errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("Open of a deleted item = %q, %v; want ErrNotFound", content, err)
	}
	deleted.Version = ""
	if content, err := readContent(t.Context(), source, deleted); !errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("Open of a deleted item without a version = %q, %v; want ErrNotFound", content, err)
	}
	for _, id := range []string{
		"", " ", "/", "..", "../kept.md", "never/there.md", "\x00", "a\x00b", "\xff\xfe", "kept.md/", "kept.md?versionId=1", "KEPT.MD",
		"https://example.com/", "file:///etc/passwd", "a\r\nHost: x", strings.Repeat("x", 5000),
	} {
		if content, err := readContent(t.Context(), source, connectors.Item{ID: id, Path: id, Size: -1}); err == nil {
			t.Errorf("Open of the invented id %.40q returned %d bytes", id, len(content))
		}
	}
	expectContent(t, source, other, []byte("kept"))
}

func openRefusesAnotherVersion(t *testing.T, setup Setup) {
	source := setup.open(t)
	setup.Fixture.Put(t, "a.md", []byte("first"))
	old := itemAt(t, source, "a.md")
	if old.Version == "" {
		return // the source has no versions
	}
	setup.Fixture.Put(t, "a.md", []byte("second"))
	content, err := readContent(t.Context(), source, old)
	if _, retryable := connectors.RetryAfterOf(err); !retryable && string(content) != "first" {
		t.Errorf("Open of a replaced version = %q, %v; want a retryable error or that version", content, err)
	}
	expectContent(t, source, itemAt(t, source, "a.md"), []byte("second"))
}

func openIsConcurrent(t *testing.T, setup Setup) {
	const items, workers = 12, 4
	for number := range items {
		path := fmt.Sprintf("item-%d.md", number)
		setup.Fixture.Put(t, path, bytes.Repeat([]byte(path), 10_000))
	}
	source := setup.open(t)
	known := itemsByPath(t, source)
	var work sync.WaitGroup
	for range workers {
		for path, item := range known {
			work.Go(func() {
				content, err := readContent(t.Context(), source, item)
				if err != nil || !bytes.Equal(content, bytes.Repeat([]byte(path), 10_000)) {
					t.Errorf("read %s: %d bytes, %v", path, len(content), err)
				}
			})
		}
		work.Go(func() {
			if page, err := source.Walk(t.Context(), ""); err != nil || len(page.Items) != items {
				t.Errorf("Walk during Open: %d items, %v", len(page.Items), err)
			}
		})
	}
	work.Wait()
}

func openStopsWhenCanceled(t *testing.T, setup Setup) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	setup.Fixture.Put(t, "large.txt", content)
	source := setup.open(t)
	item := itemAt(t, source, "large.txt")

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if content, err := readContent(canceled, source, item); !errors.Is(err, context.Canceled) {
		t.Errorf("Open when canceled = %d bytes, %v; want canceled", len(content), err)
	}

	midway, stop := context.WithCancel(t.Context())
	defer stop()
	reader, err := source.Open(midway, item)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	if _, err := io.ReadFull(reader, make([]byte, 1000)); err != nil {
		t.Fatalf("read the start: %v", err)
	}
	stop()
	// Buffered bytes and local files may still be read. Reading must not hang or
	// present a part as the whole.
	rest, err := io.ReadAll(reader)
	if err == nil && len(rest) != len(content)-1000 {
		t.Errorf("the content ended without an error when canceled after %d bytes", len(rest)+1000)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Read when canceled = %v, want canceled", err)
	}
	if err := reader.Close(); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Close when canceled: %v", err)
	}
	expectContent(t, source, item, content)
}
