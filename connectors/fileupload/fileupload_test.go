package fileupload_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/fileupload"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

func TestKindPassesTheSuite(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, func(*testing.T) connectortest.Setup {
		uploads := newUploads()
		return connectortest.Setup{
			Kind:     fileupload.Kind(uploads),
			Settings: connectors.Settings{ConnectorID: "mine"},
			Fixture:  fixture{uploads},
			UnusualPaths: []string{
				"with space.md", "plus+sign.md", "100%.md", "a%20b.md", "ünï/çødé.md", "日本語/ページ.md", "emoji-🐦.md", "quote'\".md",
				"question?.md", "hash#.md", "amp&amp;.md", "semi;colon.md", "dots/..hidden.md", "back\\slash.md", "a/b/c/d/e/f/g.md",
				strings.Repeat("long/", 180) + "name.md",
			},
		}
	})
}

func TestFilesOfOtherConnectorsAreHidden(t *testing.T) {
	t.Parallel()
	uploads := newUploads()
	uploads.put("theirs", "secret.md", []byte("theirs"))
	uploads.put("mine", "own.md", []byte("mine"))
	source := open(t, uploads, "mine")
	page, err := source.Walk(t.Context(), "")
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != "own.md" {
		t.Errorf("walk: %v, %v; want own.md alone", page.Items, err)
	}
	if _, err := source.Open(t.Context(), connectors.Item{ID: "secret.md"}); !errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("open another connector's file: got %v, want ErrNotFound", err)
	}
}

func TestItemsHaveTheFactsOfFiles(t *testing.T) {
	t.Parallel()
	uploads := newUploads()
	uploads.put("mine", "docs/a.md", []byte("content"))
	page, err := open(t, uploads, "mine").Walk(t.Context(), "")
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("walk: %v, %v", page, err)
	}
	sum := sha256.Sum256([]byte("content"))
	got, want := page.Items[0], connectors.Item{
		ID: "docs/a.md", Path: "docs/a.md", Version: hex.EncodeToString(sum[:]), MediaType: "text/markdown", Size: 7,
		CreatedAt: uploaded.UTC(), ModifiedAt: uploaded.UTC(),
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestExactlyOnePageOfFilesIsWalkedToItsEnd(t *testing.T) {
	t.Parallel()
	uploads := newUploads()
	for number := range connectors.MaxPageItems {
		uploads.put("mine", fmt.Sprintf("%04d.md", number), nil)
	}
	source := open(t, uploads, "mine")
	first, err := source.Walk(t.Context(), "")
	if err != nil || len(first.Items) != connectors.MaxPageItems || first.Done {
		t.Fatalf("first page: %d items, done %v, %v", len(first.Items), first.Done, err)
	}
	second, err := source.Walk(t.Context(), first.Next)
	if err != nil || len(second.Items) != 0 || !second.Done {
		t.Errorf("second page: %d items, done %v, %v", len(second.Items), second.Done, err)
	}
}

func TestFilesDeletedDuringAWalkDoNotDisturbIt(t *testing.T) {
	t.Parallel()
	uploads := newUploads()
	for number := range connectors.MaxPageItems + 10 {
		uploads.put("mine", fmt.Sprintf("%04d.md", number), nil)
	}
	source := open(t, uploads, "mine")
	first, err := source.Walk(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range first.Items[100:] {
		uploads.delete("mine", item.ID)
	}
	second, err := source.Walk(t.Context(), first.Next)
	if err != nil || len(second.Items) != 10 || !second.Done {
		t.Errorf("second page: %d items, done %v, %v; want the 10 left", len(second.Items), second.Done, err)
	}
}

func TestListingOutOfOrderIsReported(t *testing.T) {
	t.Parallel()
	source := open(t, unorderedFiles{}, "mine")
	if _, err := source.Walk(t.Context(), ""); !connectors.IsFatal(err) {
		t.Errorf("got %v, want a fatal error", err)
	}
}

func TestErrorsOfFilesKeepTheirMarks(t *testing.T) {
	t.Parallel()
	uploads := newUploads()
	uploads.broken = connectors.Retryable(errors.New("the database is away"), 3*time.Second)
	source := open(t, uploads, "mine")
	resolver, ok := source.(connectors.Resolver)
	if !ok {
		t.Fatal("the source does not resolve paths")
	}
	_, walked := source.Walk(t.Context(), "")
	_, opened := source.Open(t.Context(), connectors.Item{ID: "a.md"})
	_, _, resolved := resolver.Resolve(t.Context(), []string{"a.md"})
	for name, err := range map[string]error{"walk": walked, "open": opened, "resolve": resolved, "check": source.Check(t.Context())} {
		if after, retryable := connectors.RetryAfterOf(err); !retryable || after != 3*time.Second {
			t.Errorf("%s: got %v, want it retryable after 3 s", name, err)
		}
	}
}

func TestCheckWithoutAConnectorListsNothing(t *testing.T) {
	t.Parallel()
	uploads := newUploads()
	uploads.broken = errors.New("nobody should ask")
	if err := open(t, uploads, "").Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
}

func TestResolveAcceptsMorePathsThanAPageHas(t *testing.T) {
	t.Parallel()
	uploads := newUploads()
	var asked []string
	for number := range 2*connectors.MaxPageItems + 1 {
		path := fmt.Sprintf("%04d.md", number)
		asked = append(asked, "/"+path)
		if number%2 == 0 {
			uploads.put("mine", path, nil)
		}
	}
	resolver, ok := open(t, uploads, "mine").(connectors.Resolver)
	if !ok {
		t.Fatal("the source does not resolve paths")
	}
	found, missing, err := resolver.Resolve(t.Context(), asked)
	if err != nil || len(found) != connectors.MaxPageItems+1 || len(missing) != connectors.MaxPageItems {
		t.Errorf("%d found, %d missing, %v", len(found), len(missing), err)
	}
}

func open(t *testing.T, files fileupload.Files, connectorID string) connectors.Source {
	t.Helper()
	source, err := openWith(t, files, connectorID, nil)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return source
}

func openWith(t *testing.T, files fileupload.Files, connectorID string, config map[string]any) (connectors.Source, error) {
	t.Helper()
	registry, err := connectors.NewRegistry(fileupload.Kind(files))
	if err != nil {
		return nil, err
	}
	kind, _ := registry.Lookup("file_upload")
	source, err := kind.New(t.Context(), connectors.Settings{ConnectorID: connectorID, Config: config})
	if err == nil {
		t.Cleanup(func() { _ = source.Close() })
	}
	return source, err
}

var uploaded = time.Date(2024, 5, 6, 7, 8, 9, 0, time.FixedZone("", 3600))

// uploads are files in memory.
type uploads struct {
	mutex    sync.Mutex
	files    map[string]fileupload.File // by connector and path
	contents map[string][]byte          // by blob key
	broken   error
}

func newUploads() *uploads {
	return &uploads{files: make(map[string]fileupload.File), contents: make(map[string][]byte)}
}

func (u *uploads) put(connectorID, path string, content []byte) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	sum := sha256.Sum256(content)
	version := hex.EncodeToString(sum[:])
	u.contents[version] = slices.Clone(content)
	u.files[connectorID+"\x00"+path] = fileupload.File{
		Path: path, Version: version, MediaType: "text/markdown", BlobKey: version, Size: int64(len(content)),
		CreatedAt: uploaded, ModifiedAt: uploaded,
	}
}

func (u *uploads) delete(connectorID, path string) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	delete(u.files, connectorID+"\x00"+path)
}

func (u *uploads) List(ctx context.Context, connectorID, after string, limit int) ([]fileupload.File, error) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.broken != nil {
		return nil, u.broken
	}
	var files []fileupload.File
	for key, file := range u.files {
		if strings.HasPrefix(key, connectorID+"\x00") && file.Path > after {
			files = append(files, file)
		}
	}
	slices.SortFunc(files, func(a, b fileupload.File) int { return strings.Compare(a.Path, b.Path) })
	return files[:min(limit, len(files))], ctx.Err()
}

func (u *uploads) Stat(ctx context.Context, connectorID string, paths []string) ([]fileupload.File, error) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.broken != nil {
		return nil, u.broken
	}
	var files []fileupload.File
	for key, file := range u.files {
		if strings.HasPrefix(key, connectorID+"\x00") && slices.Contains(paths, file.Path) {
			files = append(files, file)
		}
	}
	return files, ctx.Err()
}

func (u *uploads) Open(ctx context.Context, _ string, f fileupload.File) (io.ReadCloser, error) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	content, ok := u.contents[f.BlobKey]
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", f.BlobKey, connectors.ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(content)), ctx.Err()
}

type fixture struct{ uploads *uploads }

func (f fixture) Put(_ testing.TB, path string, content []byte) { f.uploads.put("mine", path, content) }
func (f fixture) Delete(_ testing.TB, path string)              { f.uploads.delete("mine", path) }

// unorderedFiles lists files in a wrong order.
type unorderedFiles struct{ fileupload.Files }

func (unorderedFiles) List(context.Context, string, string, int) ([]fileupload.File, error) {
	return []fileupload.File{{Path: "b"}, {Path: "a"}}, nil
}

func TestPagesOfASiteHaveAddresses(t *testing.T) {
	t.Parallel()
	uploads := newUploads()
	for _, path := range []string{"guide/index.md", "guide/install now.md", "guide/v1.2/notes.tar.gz", "index.html", ".hidden", "größe?#.md"} {
		uploads.put("mine", path, []byte(path))
	}
	for _, c := range []struct {
		config map[string]any
		want   string
	}{
		{nil, "[     ]"},
		{map[string]any{"baseUrl": "https://docs.example.com"}, "[https://docs.example.com/.hidden https://docs.example.com/gr%C3%B6%C3%9Fe%3F%23.md https://docs.example.com/guide/ " +
			"https://docs.example.com/guide/install%20now.md https://docs.example.com/guide/v1.2/notes.tar.gz https://docs.example.com/]"},
		{map[string]any{"baseUrl": "http://docs.example.com:81/a/", "stripExtension": true, "indexPages": []any{"install now", "notes"}},
			"[http://docs.example.com:81/a/.hidden http://docs.example.com:81/a/gr%C3%B6%C3%9Fe%3F%23 http://docs.example.com:81/a/guide/index " +
				"http://docs.example.com:81/a/guide/ http://docs.example.com:81/a/guide/v1.2/notes.tar http://docs.example.com:81/a/index]"},
	} {
		source, err := openWith(t, uploads, "mine", c.config)
		if err != nil {
			t.Fatal(err)
		}
		page, err := source.Walk(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		var addresses []string
		for _, item := range page.Items {
			addresses = append(addresses, item.URL)
			content, err := source.Open(t.Context(), item)
			if err != nil {
				t.Fatalf("open %s: %v", item.ID, err)
			}
			_ = content.Close() // nothing was written
		}
		if got := fmt.Sprint(addresses); got != c.want {
			t.Errorf("%v: got %s, want %s", c.config, got, c.want)
		}
	}
}

func TestAnotherAddressIsAnotherVersion(t *testing.T) {
	t.Parallel()
	uploads := newUploads()
	uploads.put("mine", "a.md", []byte("a"))
	versions := map[string]bool{}
	for _, base := range []string{"", "https://a.example.com/", "https://b.example.com/"} {
		source, err := openWith(t, uploads, "mine", map[string]any{"baseUrl": base})
		if err != nil {
			t.Fatal(err)
		}
		page, err := source.Walk(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		versions[page.Items[0].Version] = true
	}
	if len(versions) != 3 {
		t.Errorf("the versions are %v", versions)
	}
}

func TestWrongAddressesAreRefused(t *testing.T) {
	t.Parallel()
	for _, config := range []map[string]any{
		{"baseUrl": "docs.example.com"}, {"baseUrl": "ftp://docs.example.com/"}, {"baseUrl": "https://a:b@docs.example.com/"},
		{"baseUrl": "https://docs.example.com/?q=1"}, {"baseUrl": "https://docs.example.com/#a"}, {"baseUrl": "https:///a"},
		{"baseUrl": "https://docs.example.com/" + strings.Repeat("a", 1000)}, {"baseUrl": "https://docs.example.com", "indexPages": []any{"a/b"}},
	} {
		kind := fileupload.Kind(newUploads())
		if err := connectors.CheckOptions("config", kind.Options, config); err == nil || !strings.HasPrefix(err.Error(), "config.") {
			t.Errorf("%v: got %v", config, err)
		}
	}
}
