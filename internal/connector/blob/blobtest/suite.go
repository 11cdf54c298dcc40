package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/magpie-search/magpie/internal/connector/blob"
)

// Run tests a store. open returns an empty one for each subtest.
func Run(t *testing.T, open func(t *testing.T) blob.Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, blob.Store){
		"ReturnsStoredContent":          returnsContent,
		"ReplacesContent":               replaces,
		"ReportsMissing":                reportsMissing,
		"Deletes":                       deletes,
		"Lists":                         lists,
		"RefusesInvalidKeys":            refusesInvalidKeys,
		"KeepsOldContentWhenPutFails":   keepsOldContent,
		"LeavesNoPartialContent":        leavesNoPartialContent,
		"NeverReturnsPartialContent":    neverReturnsPartialContent,
		"StopsWhenTheContextEnds":       stopsWithContext,
		"AcceptsManyKeysConcurrently":   acceptsManyKeys,
		"ReaderSurvivesReplacedContent": readerSurvives,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func put(t *testing.T, store blob.Store, key string, content []byte) {
	t.Helper()
	if err := store.Put(t.Context(), key, bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

func get(ctx context.Context, store blob.Store, key string) ([]byte, error) {
	reader, err := store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(reader)
	return content, errors.Join(err, reader.Close())
}

func expect(t *testing.T, store blob.Store, key string, want []byte) {
	t.Helper()
	got, err := get(t.Context(), store, key)
	if err != nil {
		t.Fatalf("read %s: %v", key, err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("read %s: got %d bytes, want %d, or they differ", key, len(got), len(want))
	}
}

func expectMissing(t *testing.T, store blob.Store, key string) {
	t.Helper()
	if _, err := get(t.Context(), store, key); !errors.Is(err, blob.ErrNotFound) {
		t.Fatalf("read %s: got %v, want ErrNotFound", key, err)
	}
}

func returnsContent(t *testing.T, store blob.Store) {
	for name, content := range map[string][]byte{
		"empty":        {},
		"one":          {0},
		"binary":       bytes.Repeat([]byte{0, 0xff, '\r', '\n'}, 1000),
		"a/b/c.d_e-f":  []byte("nested"),
		"large":        bytes.Repeat([]byte("0123456789abcdef"), 20<<16),
		"gzip-looking": {0x1f, 0x8b, 0x08, 0, 0, 0},
	} {
		put(t, store, name, content)
		expect(t, store, name, content)
		unknown := name + "-of-unknown-size"
		if err := store.Put(t.Context(), unknown, iotest.HalfReader(bytes.NewReader(content)), -1); err != nil {
			t.Fatalf("put %s: %v", unknown, err)
		}
		expect(t, store, unknown, content)
	}
}

func replaces(t *testing.T, store blob.Store) {
	for _, content := range []string{"first", "second, longer", "", "4"} {
		put(t, store, "key", []byte(content))
		expect(t, store, "key", []byte(content))
	}
}

func reportsMissing(t *testing.T, store blob.Store) {
	expectMissing(t, store, "nothing")
	put(t, store, "folder/file", []byte("x"))
	expectMissing(t, store, "folder")
	expectMissing(t, store, "folder/file/below")
	expectMissing(t, store, "folder/fil")
}

func deletes(t *testing.T, store blob.Store) {
	put(t, store, "folder/a", []byte("a"))
	put(t, store, "folder/b", []byte("b"))
	for range 2 {
		if err := store.Delete(t.Context(), "folder/a"); err != nil {
			t.Fatalf("delete: %v", err)
		}
	}
	if err := store.Delete(t.Context(), "never/there"); err != nil {
		t.Fatalf("delete a missing one: %v", err)
	}
	if err := store.Delete(t.Context(), "folder"); err != nil {
		t.Fatalf("delete a folder's name: %v", err)
	}
	expectMissing(t, store, "folder/a")
	expect(t, store, "folder/b", []byte("b"))
	put(t, store, "folder/a", []byte("again"))
	expect(t, store, "folder/a", []byte("again"))
}

func refusesInvalidKeys(t *testing.T, store blob.Store) {
	for _, key := range []string{
		"", "/", "/etc/passwd", "..", "../up", "a/../../up", "a/./b", "a//b", "a/", ".", "./a", "A", "a b", "a\\b", "a\x00b",
		"a~", "unfinished~/x", "é", "a\nb", "c:", "%2e%2e/up", strings.Repeat("k", 513), strings.Repeat("p", 201),
	} {
		if err := store.Put(t.Context(), key, strings.NewReader("x"), 1); err == nil {
			t.Errorf("put accepted %.40q", key)
		}
		if reader, err := store.Open(t.Context(), key); err == nil {
			_ = reader.Close()
			t.Errorf("open accepted %.40q", key)
		}
		if err := store.Delete(t.Context(), key); err == nil {
			t.Errorf("delete accepted %.40q", key)
		}
	}
}

// failingReaders returns readers that make Put fail, and the announced sizes.
func failingReaders() map[string]func() (io.Reader, int64) {
	broken := errors.New("the upload broke off")
	return map[string]func() (io.Reader, int64){
		"breaks at once": func() (io.Reader, int64) { return iotest.ErrReader(broken), 100 },
		"breaks halfway": func() (io.Reader, int64) {
			return io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), iotest.ErrReader(broken)), 2 << 20
		},
		"breaks at the end": func() (io.Reader, int64) {
			return io.MultiReader(strings.NewReader("12345"), iotest.ErrReader(broken)), 5
		},
		"breaks, size unknown": func() (io.Reader, int64) {
			return io.MultiReader(strings.NewReader("12345"), iotest.ErrReader(broken)), -1
		},
		"too short":             func() (io.Reader, int64) { return strings.NewReader("1234"), 5 },
		"too long":              func() (io.Reader, int64) { return strings.NewReader("123456"), 5 },
		"not empty as promised": func() (io.Reader, int64) { return strings.NewReader("1"), 0 },
	}
}

func keepsOldContent(t *testing.T, store blob.Store) {
	put(t, store, "key", []byte("old"))
	for name, failing := range failingReaders() {
		reader, size := failing()
		if err := store.Put(t.Context(), "key", reader, size); err == nil {
			t.Errorf("%s: put succeeded", name)
		}
		expect(t, store, "key", []byte("old"))
	}
}

func leavesNoPartialContent(t *testing.T, store blob.Store) {
	for name, failing := range failingReaders() {
		reader, size := failing()
		if err := store.Put(t.Context(), "key", reader, size); err == nil {
			t.Errorf("%s: put succeeded", name)
		}
		expectMissing(t, store, "key")
	}
}

func neverReturnsPartialContent(t *testing.T, store blob.Store) {
	content := func(letter byte) []byte { return bytes.Repeat([]byte{letter}, 300_000+int(letter)) }
	put(t, store, "key", content('a'))
	var writers, readers sync.WaitGroup
	written := make(chan struct{})
	for letter := byte('b'); letter <= 'd'; letter++ {
		writers.Go(func() {
			for range 5 {
				whole := content(letter)
				if err := store.Put(t.Context(), "key", bytes.NewReader(whole), int64(len(whole))); err != nil {
					t.Errorf("put: %v", err)
				}
			}
		})
	}
	for range 3 {
		readers.Go(func() {
			for {
				got, err := get(t.Context(), store, "key")
				if err != nil {
					t.Errorf("read: %v", err)
					return
				}
				if len(got) == 0 || !bytes.Equal(got, content(got[0])) {
					t.Errorf("read %d bytes of no content ever put", len(got))
					return
				}
				select {
				case <-written:
					return
				default:
				}
			}
		})
	}
	writers.Wait()
	close(written)
	readers.Wait()
}

func stopsWithContext(t *testing.T, store blob.Store) {
	put(t, store, "key", []byte("old"))
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := store.Put(canceled, "key", strings.NewReader("new"), 3); !errors.Is(err, context.Canceled) {
		t.Errorf("put: got %v, want canceled", err)
	}
	if reader, err := store.Open(canceled, "key"); !errors.Is(err, context.Canceled) {
		if err == nil {
			_ = reader.Close()
		}
		t.Errorf("open: got %v, want canceled", err)
	}
	if err := store.Delete(canceled, "key"); !errors.Is(err, context.Canceled) {
		t.Errorf("delete: got %v, want canceled", err)
	}

	midway, stop := context.WithCancel(t.Context())
	defer stop()
	endless := readerFunc(func(buffer []byte) (int, error) {
		stop()
		return len(buffer), nil
	})
	if err := store.Put(midway, "key", endless, -1); !errors.Is(err, context.Canceled) {
		t.Errorf("put midway: got %v, want canceled", err)
	}
	expect(t, store, "key", []byte("old"))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(buffer []byte) (int, error) { return f(buffer) }

func acceptsManyKeys(t *testing.T, store blob.Store) {
	var work sync.WaitGroup
	for number := range 32 {
		work.Go(func() {
			key := fmt.Sprintf("shared/%d/file", number%4)
			own := fmt.Sprintf("%s-%d", key, number)
			if err := store.Put(t.Context(), own, strings.NewReader(own), int64(len(own))); err != nil {
				t.Errorf("put: %v", err)
				return
			}
			if got, err := get(t.Context(), store, own); err != nil || string(got) != own {
				t.Errorf("read %s: %q, %v", own, got, err)
			}
		})
	}
	work.Wait()
}

func readerSurvives(t *testing.T, store blob.Store) {
	put(t, store, "key", []byte("the old content"))
	reader, err := store.Open(t.Context(), "key")
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer func() { _ = reader.Close() }()
	put(t, store, "key", []byte("something else"))
	if err := store.Delete(t.Context(), "key"); err != nil {
		t.Fatalf("delete: %v", err)
	}
	got, err := io.ReadAll(reader)
	if err != nil || string(got) != "the old content" {
		t.Errorf("read on: %q, %v", got, err)
	}
}

func lists(t *testing.T, store blob.Store) {
	want := map[string]int64{"a/one": 3, "a/b/two": 0, "ab/three": 5, "four": 4}
	for key, size := range want {
		put(t, store, key, bytes.Repeat([]byte("x"), int(size)))
	}
	if err := store.Put(t.Context(), "a/failed", iotest.ErrReader(errors.New("broken")), -1); err == nil {
		t.Error("a broken upload was stored")
	}
	for folder, keys := range map[string][]string{"": {"a/one", "a/b/two", "ab/three", "four"}, "a": {"a/one", "a/b/two"}, "a/b": {"a/b/two"}, "none": {}} {
		got := map[string]int64{}
		if err := store.List(t.Context(), folder, func(e blob.Entry) error { got[e.Key] = e.Bytes; return nil }); err != nil {
			t.Fatalf("list %q: %v", folder, err)
		}
		if len(got) != len(keys) {
			t.Errorf("list %q: %v, want %v", folder, got, keys)
		}
		for _, key := range keys {
			if size, found := got[key]; !found || size != want[key] {
				t.Errorf("list %q: %s has %d bytes, %t, want %d", folder, key, size, found, want[key])
			}
		}
	}
	stop := errors.New("enough")
	if err := store.List(t.Context(), "", func(blob.Entry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("a visit that stops: %v", err)
	}
	for _, folder := range []string{"..", "a/", "/a", "A"} {
		if err := store.List(t.Context(), folder, func(blob.Entry) error { return nil }); err == nil {
			t.Errorf("the folder %q was listed", folder)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := store.List(ended, "", func(blob.Entry) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("list after the end: %v", err)
	}
}
