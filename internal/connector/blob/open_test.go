package blob_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/connector/blob"
)

func TestOpenReadsFolderAddresses(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "with space")
	store, err := blob.Open(t.Context(), "file://"+strings.ReplaceAll(folder, " ", "%20"), blob.Credentials{})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	directory, ok := store.(*blob.Dir)
	if !ok {
		t.Fatalf("got a %T, want a *blob.Dir", store)
	}
	defer func() { _ = directory.Close() }()
	if err := store.Put(t.Context(), "a", strings.NewReader("x"), 1); err != nil {
		t.Errorf("put: %v", err)
	}
	if found, err := filepath.Glob(filepath.Join(folder, "a*")); err != nil || len(found) != 1 {
		t.Errorf("in the folder: %v, %v", found, err)
	}
}

func TestOpenExplainsBadAddresses(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	for _, address := range []string{
		"", "blobs", "/var/blobs", "file://host/path", "file:relative", "file:///x?y=1", "http://host", "s3://", "s3:///prefix",
		"s3://bucket?endpoint=host:9000", "s3://bucket?endpoint=ftp://host", "s3://bucket?endpoint=http://user:" + password + "@host",
		"s3://key:" + password + "@bucket", "s3://bucket?secret=" + password, "://", "s3://bucket?endpoint=http://host/path",
	} {
		_, err := blob.Open(t.Context(), address, blob.Credentials{})
		if err == nil {
			t.Errorf("%q: opened", address)
		} else if strings.Contains(err.Error(), password) {
			t.Errorf("%q: the error shows the password: %v", address, err)
		}
	}
}
