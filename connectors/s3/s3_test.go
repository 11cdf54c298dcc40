package s3_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/s3"
	"github.com/magpie-search/magpie/internal/testkit"
)

func unusualPaths() []string {
	return []string{
		"with space.md", "two  spaces .md", "plus+sign.md", "100%.md", "a%20b.md", "a%2Fb.md", "ünï/çødé.md", "日本語/ページ.md",
		"emoji-🐦.md", "quote'\".md", "question?.md", "hash#.md", "amp&amp;.md", "semi;colon=equals.md", "at@colon:comma,.md",
		"(brackets)[]{}.md", "back\\slash.md", "dots..md", "dots/..hidden.md", "less<more>.md", "tilde~*!$.md", "a/b/c/d/e/f/g.md",
	}
}

func TestBucketPassesTheSuite(t *testing.T) {
	t.Parallel()
	server := testkit.S3(t)
	connectortest.Run(t, func(t *testing.T) connectortest.Setup {
		b := newBucket(t, server)
		return connectortest.Setup{
			Kind: s3.Kind(dial), Settings: b.settings(nil), Fixture: fixture{bucket: b}, UnusualPaths: unusualPaths(),
		}
	})
}

func TestPrefixOfABucketPassesTheSuite(t *testing.T) {
	t.Parallel()
	server := testkit.S3(t)
	connectortest.Run(t, func(t *testing.T) connectortest.Setup {
		b := newBucket(t, server)
		for _, key := range []string{"a.md", "docs.md", "docs/a.md", "docs/v1.md", "docs/v10/a.md", "docs/v2/a.md", "zoo/docs/v1/a.md"} {
			b.put(t, key, []byte("outside"), minio.PutObjectOptions{})
		}
		return connectortest.Setup{
			Kind: s3.Kind(dial), Settings: b.settings(map[string]any{"prefix": "/docs/v1/", "region": "us-east-1"}),
			Fixture: fixture{bucket: b, prefix: "docs/v1/"}, UnusualPaths: unusualPaths(), ItemCount: connectors.MaxPageItems*2 + 1,
		}
	})
}

// TestBucket runs the tests of this kind's particulars on one server.
func TestBucket(t *testing.T) {
	t.Parallel()
	server := testkit.S3(t)
	for name, test := range map[string]func(*testing.T, bucket){
		"PagesEndExactlyAtTheLimit":        pagesEndExactlyAtTheLimit,
		"FolderMarkersAreNoItems":          folderMarkersAreNoItems,
		"PathsLeaveOutTheFolderOfAPrefix":  pathsLeaveOutTheFolder,
		"ResolveTakesKeysAndPaths":         resolveTakesKeysAndPaths,
		"ItemsOutsideThePrefixDoNotOpen":   itemsOutsideThePrefixDoNotOpen,
		"ItemsTellWhatIsKnown":             itemsTellWhatIsKnown,
		"CompressedPagesAreUnpacked":       compressedPagesAreUnpacked,
		"WrongSecretNeedsAuth":             wrongSecretNeedsAuth,
		"UnknownAccessKeyNeedsAuth":        unknownAccessKeyNeedsAuth,
		"NoCredentialsNeedAuth":            noCredentialsNeedAuth,
		"MissingBucketIsFatal":             missingBucketIsFatal,
		"MissingBucketIsNoMissingDocument": missingBucketIsNoMissingDocument,
		"ChangedPrefixStopsOldCursors":     cursorOfAnotherPrefix,
		"DeletionsBetweenPagesLoseNothing": deletionsBetweenPages,
		"ClosedSourceSaysSo":               closedSourceSaysSo,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newBucket(t, server))
		})
	}
}

func pagesEndExactlyAtTheLimit(t *testing.T, b bucket) {
	b.fill(t, connectors.MaxPageItems)
	page, err := open(t, b.settings(nil)).Walk(t.Context(), "")
	if err != nil || len(page.Items) != connectors.MaxPageItems || !page.Done {
		t.Errorf("%d items, done %v, %v; want one full page that is the last", len(page.Items), page.Done, err)
	}
}

func folderMarkersAreNoItems(t *testing.T, b bucket) {
	b.put(t, "docs/", nil, minio.PutObjectOptions{ContentType: "application/x-directory"})
	b.put(t, "docs/deep/", nil, minio.PutObjectOptions{})
	b.put(t, "docs/deep/a.md", []byte("a"), minio.PutObjectOptions{})
	for _, prefix := range []string{"", "docs/", "docs"} {
		page, err := open(t, b.settings(map[string]any{"prefix": prefix})).Walk(t.Context(), "")
		if err != nil || len(page.Items) != 1 || page.Items[0].ID != "docs/deep/a.md" {
			t.Errorf("prefix %q: %v, %v; want the file alone", prefix, page.Items, err)
		}
	}
}

func pathsLeaveOutTheFolder(t *testing.T, b bucket) {
	for _, key := range []string{"docs/2023-a.md", "docs/2024-a.md", "docs/2024/b.md", "docs-old/c.md"} {
		b.put(t, key, []byte(key), minio.PutObjectOptions{})
	}
	for prefix, want := range map[string][]string{
		"":           {"docs-old/c.md", "docs/2023-a.md", "docs/2024-a.md", "docs/2024/b.md"},
		"docs/":      {"2023-a.md", "2024-a.md", "2024/b.md"},
		"/docs/":     {"2023-a.md", "2024-a.md", "2024/b.md"},
		"docs/2024":  {"2024-a.md", "2024/b.md"},
		"docs/2024/": {"b.md"},
		"docs":       {"docs-old/c.md", "docs/2023-a.md", "docs/2024-a.md", "docs/2024/b.md"},
		"nothing/":   nil,
	} {
		page, err := open(t, b.settings(map[string]any{"prefix": prefix})).Walk(t.Context(), "")
		if err != nil {
			t.Errorf("prefix %q: %v", prefix, err)
			continue
		}
		var paths []string
		for _, item := range page.Items {
			paths = append(paths, item.Path)
		}
		if !slices.Equal(paths, want) {
			t.Errorf("prefix %q: paths %q, want %q", prefix, paths, want)
		}
	}
}

func resolveTakesKeysAndPaths(t *testing.T, b bucket) {
	for _, key := range []string{"docs/a.md", "docs/docs/b.md", "docs/b.md", "other/c.md"} {
		b.put(t, key, []byte(key), minio.PutObjectOptions{})
	}
	source := open(t, b.settings(map[string]any{"prefix": "docs/"}))
	for path, want := range map[string]string{
		"a.md":           "docs/a.md",
		"/a.md":          "docs/a.md",
		"docs/a.md":      "docs/a.md",
		"/docs/a.md":     "docs/a.md",
		"docs/b.md":      "docs/docs/b.md", // a Path first, a key second
		"docs/docs/b.md": "docs/docs/b.md",
		"other/c.md":     "", // outside the prefix
		"../other/c.md":  "",
		"docs/":          "",
		"a.m":            "",
	} {
		found, missing, err := resolve(t, source, path)
		switch {
		case err != nil:
			t.Errorf("%q: %v", path, err)
		case want == "" && (len(found) != 0 || len(missing) != 1):
			t.Errorf("%q: found %v", path, found)
		case want != "" && (len(found) != 1 || found[0].ID != want || len(missing) != 0):
			t.Errorf("%q: found %v, want %s", path, found, want)
		}
	}
	found, _, err := resolve(t, source, "a.md", "docs/a.md", "/a.md")
	if err != nil || len(found) != 1 {
		t.Errorf("three names of one object: found %v, %v", found, err)
	}
}

func resolve(t *testing.T, source connectors.Source, paths ...string) (found []connectors.Item, missing []string, err error) {
	t.Helper()
	resolver, ok := source.(connectors.Resolver)
	if !ok {
		t.Fatal("the source does not resolve paths")
	}
	return resolver.Resolve(t.Context(), paths)
}

func itemsOutsideThePrefixDoNotOpen(t *testing.T, b bucket) {
	b.put(t, "secret/a.md", []byte("secret"), minio.PutObjectOptions{})
	b.put(t, "docs/a.md", []byte("open"), minio.PutObjectOptions{})
	source := open(t, b.settings(map[string]any{"prefix": "docs/"}))
	for _, id := range []string{"secret/a.md", "docs/../secret/a.md", "docs/./../secret/a.md", "/docs/../secret/a.md"} {
		content, err := source.Open(t.Context(), connectors.Item{ID: id})
		if err == nil {
			_ = content.Close()
		}
		if !errors.Is(err, connectors.ErrNotFound) {
			t.Errorf("open %q: got %v, want ErrNotFound", id, err)
		}
	}
}

func itemsTellWhatIsKnown(t *testing.T, b bucket) {
	b.put(t, "docs/a b+c.md", []byte("content"), minio.PutObjectOptions{ContentType: "text/markdown"})
	info, err := b.client.StatObject(t.Context(), b.name, "docs/a b+c.md", minio.StatObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	page, err := open(t, b.settings(map[string]any{"prefix": "docs/"})).Walk(t.Context(), "")
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("walk: %v, %v", page.Items, err)
	}
	item := page.Items[0]
	if item.ID != "docs/a b+c.md" || item.Path != "a b+c.md" || item.Version != info.ETag || item.Size != 7 || item.Title != "" {
		t.Errorf("got %+v", item)
	}
	if want := b.endpoint + "/" + b.name + "/docs/a%20b%2Bc.md"; item.URL != want {
		t.Errorf("url %q, want %q", item.URL, want)
	}
	if age := info.LastModified.Sub(item.ModifiedAt); age.Abs().Seconds() > 1 {
		t.Errorf("modified at %v, want %v", item.ModifiedAt, info.LastModified)
	}
}

func compressedPagesAreUnpacked(t *testing.T, b bucket) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := io.WriteString(writer, "<h1>A page</h1>"); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	b.put(t, "encoded.html", packed.Bytes(), minio.PutObjectOptions{ContentEncoding: "gzip"})
	b.put(t, "mislabeled.html", []byte("<h1>A page</h1>"), minio.PutObjectOptions{ContentEncoding: "gzip"})
	b.put(t, "empty.html", nil, minio.PutObjectOptions{ContentEncoding: "gzip"})
	b.put(t, "archive.gz", packed.Bytes(), minio.PutObjectOptions{})
	source := open(t, b.settings(nil))
	for key, want := range map[string]string{
		"encoded.html": "<h1>A page</h1>", "mislabeled.html": "<h1>A page</h1>", "empty.html": "", "archive.gz": packed.String(),
	} {
		content, err := source.Open(t.Context(), connectors.Item{ID: key})
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		got, err := io.ReadAll(content)
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v; want %q", key, got, err, want)
		}
		if err := content.Close(); err != nil {
			t.Errorf("close %s: %v", key, err)
		}
	}
}

// everyCall returns the error of each call that sends a request.
func everyCall(t *testing.T, settings connectors.Settings) map[string]error {
	t.Helper()
	source := open(t, settings)
	_, walked := source.Walk(t.Context(), "")
	content, opened := source.Open(t.Context(), connectors.Item{ID: "docs/a.md", Version: "abc"})
	if opened == nil {
		_ = content.Close()
	}
	_, _, resolved := resolve(t, source, "docs/a.md")
	return map[string]error{"walk": walked, "open": opened, "resolve": resolved, "check": source.Check(t.Context())}
}

func wrongSecretNeedsAuth(t *testing.T, b bucket) {
	settings := b.settings(nil)
	settings.Credentials["secretAccessKey"] = "wrong-" + b.secret
	for call, err := range everyCall(t, settings) {
		if !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "credentials.secretAccessKey") {
			t.Errorf("%s: got %v, want it to ask for credentials.secretAccessKey", call, err)
		} else if strings.Contains(err.Error(), b.secret) {
			t.Errorf("%s: the error shows the secret: %v", call, err)
		}
	}
}

func unknownAccessKeyNeedsAuth(t *testing.T, b bucket) {
	settings := b.settings(nil)
	settings.Credentials["accessKeyId"] = "NOSUCHKEY"
	for call, err := range everyCall(t, settings) {
		if !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "credentials.accessKeyId") {
			t.Errorf("%s: got %v, want it to ask for credentials.accessKeyId", call, err)
		}
	}
}

func noCredentialsNeedAuth(t *testing.T, b bucket) {
	settings := b.settings(nil)
	settings.Credentials = nil
	for call, err := range everyCall(t, settings) {
		if err == nil || !strings.Contains(err.Error(), "not public") || (call != "open" && !connectors.IsNeedsAuth(err)) {
			t.Errorf("%s: got %v, want it to say that the bucket is not public", call, err)
		}
	}
}

func missingBucketIsFatal(t *testing.T, b bucket) {
	for _, region := range []string{"", "us-east-1"} {
		for call, err := range everyCall(t, b.settings(map[string]any{"bucket": "no-such-bucket", "region": region})) {
			if !connectors.IsFatal(err) || !strings.Contains(err.Error(), "config.bucket") || errors.Is(err, connectors.ErrNotFound) {
				t.Errorf("%s, region %q: got %v, want a fatal error about config.bucket", call, region, err)
			}
		}
	}
}

func missingBucketIsNoMissingDocument(t *testing.T, b bucket) {
	b.put(t, "a.md", []byte("a"), minio.PutObjectOptions{})
	source := open(t, b.settings(map[string]any{"region": "us-east-1"}))
	b.remove(t, "a.md")
	if err := b.client.RemoveBucket(t.Context(), b.name); err != nil {
		t.Fatal(err)
	}
	if found, missing, err := resolve(t, source, "a.md"); !connectors.IsFatal(err) {
		t.Errorf("resolve: %v, %v, %v; want a fatal error", found, missing, err)
	}
	if page, err := source.Walk(t.Context(), ""); !connectors.IsFatal(err) {
		t.Errorf("walk: %d items, done %v, %v; want a fatal error", len(page.Items), page.Done, err)
	}
}

func cursorOfAnotherPrefix(t *testing.T, b bucket) {
	for _, key := range []string{"a/1.md", "b/1.md", "b/2.md", "c/1.md"} {
		b.put(t, key, []byte(key), minio.PutObjectOptions{})
	}
	source := open(t, b.settings(map[string]any{"prefix": "b/"}))
	for cursor, want := range map[string]int{"a/1.md": 2, "a": 2, "b/": 2, "b/1.md": 1, "b/1.md/gone": 1, "b/2.md": 0, "c/1.md": 0} {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil || len(page.Items) != want || !page.Done {
			t.Errorf("from %q: %d items, done %v, %v; want %d", cursor, len(page.Items), page.Done, err, want)
		}
	}
}

func deletionsBetweenPages(t *testing.T, b bucket) {
	b.fill(t, connectors.MaxPageItems+10)
	source := open(t, b.settings(nil))
	first, err := source.Walk(t.Context(), "")
	if err != nil || first.Done {
		t.Fatalf("first page: done %v, %v", first.Done, err)
	}
	for _, item := range first.Items[connectors.MaxPageItems-3:] {
		b.remove(t, item.ID) // the object the cursor names among them
	}
	second, err := source.Walk(t.Context(), first.Next)
	if err != nil || len(second.Items) != 10 || !second.Done {
		t.Errorf("second page: %d items, done %v, %v; want the 10 left", len(second.Items), second.Done, err)
	}
}

func closedSourceSaysSo(t *testing.T, b bucket) {
	source := open(t, b.settings(nil))
	if err := source.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := source.Walk(t.Context(), ""); err == nil {
		t.Error("walked a closed source")
	}
	if _, err := source.Open(t.Context(), connectors.Item{ID: "a"}); err == nil {
		t.Error("opened an item of a closed source")
	}
}
