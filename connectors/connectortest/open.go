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

func openGivesTheContent(t *testing.T, setup Setup) {
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
	items := walked(t, source)
	for path, content := range contents {
		expectContent(t, source, items[path], content)
	}

	// Whoever needs the beginning only may close before the end.
	reader, err := source.Open(t.Context(), items["large.csv"])
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	start := make([]byte, 14)
	if _, err := io.ReadFull(reader, start); err != nil || string(start) != "a,b,c,d,e,f,g\n" {
		t.Errorf("the beginning: %q, %v", start, err)
	}
	if err := reader.Close(); err != nil {
		t.Errorf("close before the end: %v", err)
	}
	expectContent(t, source, items["large.csv"], contents["large.csv"])
}

func oddPathsWork(t *testing.T, setup Setup) {
	source := setup.open(t)
	for _, path := range setup.OddPaths {
		setup.Fixture.Put(t, path, []byte("content of "+path))
	}
	items := walked(t, source)
	if len(items) != len(setup.OddPaths) {
		t.Errorf("%d items are named, want %d", len(items), len(setup.OddPaths))
	}
	for _, path := range setup.OddPaths {
		item, ok := items[path]
		if !ok {
			t.Errorf("the walk does not name %q", path)
			continue
		}
		checkItem(t, item)
		expectContent(t, source, item, []byte("content of "+path))
	}
}

func openReportsWhatIsGone(t *testing.T, setup Setup) {
	source := setup.open(t)
	setup.Fixture.Put(t, "kept.md", []byte("kept"))
	setup.Fixture.Put(t, "gone.md", []byte("gone"))
	gone, kept := itemAt(t, source, "gone.md"), itemAt(t, source, "kept.md")
	setup.Fixture.Delete(t, "gone.md")
	if content, err := read(t.Context(), source, gone); !errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("open a deleted item: got %q, %v; want ErrNotFound", content, err)
	}
	gone.Version = ""
	if content, err := read(t.Context(), source, gone); !errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("open a deleted item of unknown version: got %q, %v; want ErrNotFound", content, err)
	}
	for _, id := range []string{
		"", " ", "/", "..", "../kept.md", "never/there.md", "\x00", "a\x00b", "\xff\xfe", "kept.md/", "kept.md?versionId=1", "KEPT.MD",
		"https://example.com/", "file:///etc/passwd", "a\r\nHost: x", strings.Repeat("x", 5000),
	} {
		if content, err := read(t.Context(), source, connectors.Item{ID: id, Path: id, Size: -1}); err == nil {
			t.Errorf("open the made-up id %.40q: got %d bytes", id, len(content))
		}
	}
	expectContent(t, source, kept, []byte("kept"))
}

func openRefusesAnotherVersion(t *testing.T, setup Setup) {
	source := setup.open(t)
	setup.Fixture.Put(t, "a.md", []byte("first"))
	old := itemAt(t, source, "a.md")
	if old.Version == "" {
		return // the source tells no versions
	}
	setup.Fixture.Put(t, "a.md", []byte("second"))
	content, err := read(t.Context(), source, old)
	if _, retryable := connectors.RetryAfterOf(err); !retryable && string(content) != "first" {
		t.Errorf("open a version that was replaced: got %q, %v; want a retryable error or that version", content, err)
	}
	expectContent(t, source, itemAt(t, source, "a.md"), []byte("second"))
}

func opensRunConcurrently(t *testing.T, setup Setup) {
	const items, workers = 12, 4
	for number := range items {
		path := fmt.Sprintf("item-%d.md", number)
		setup.Fixture.Put(t, path, bytes.Repeat([]byte(path), 10_000))
	}
	source := setup.open(t)
	known := walked(t, source)
	var work sync.WaitGroup
	for range workers {
		for path, item := range known {
			work.Go(func() {
				content, err := read(t.Context(), source, item)
				if err != nil || !bytes.Equal(content, bytes.Repeat([]byte(path), 10_000)) {
					t.Errorf("read %s: %d bytes, %v", path, len(content), err)
				}
			})
		}
		work.Go(func() {
			if page, err := source.Walk(t.Context(), ""); err != nil || len(page.Items) != items {
				t.Errorf("walk beside reading: %d items, %v", len(page.Items), err)
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
	if content, err := read(canceled, source, item); !errors.Is(err, context.Canceled) {
		t.Errorf("open when canceled: got %d bytes, %v; want canceled", len(content), err)
	}

	midway, stop := context.WithCancel(t.Context())
	defer stop()
	reader, err := source.Open(midway, item)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if _, err := io.ReadFull(reader, make([]byte, 1000)); err != nil {
		t.Fatalf("read the beginning: %v", err)
	}
	stop()
	// What has arrived already may still be read, and a local file wholly; what
	// must not happen is that reading hangs or passes off a part as the whole.
	rest, err := io.ReadAll(reader)
	if err == nil && len(rest) != len(content)-1000 {
		t.Errorf("a content cut off by cancelling ended without an error after %d bytes", len(rest)+1000)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("reading on when canceled: got %v, want canceled", err)
	}
	if err := reader.Close(); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("close when canceled: %v", err)
	}
	expectContent(t, source, item, content)
}
