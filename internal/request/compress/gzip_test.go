package compress_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"testing"

	"github.com/magpie-search/magpie/internal/request/compress"
)

func TestContentIsCompressedIfThatHelps(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("magpie "), 100)
	r, err := gzip.NewReader(bytes.NewReader(compress.Gzip(content)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if zipped := compress.Gzip([]byte("magpie")); zipped != nil {
		t.Errorf("a short content becomes %d bytes", len(zipped))
	}
}

func TestARequestSaysWhetherItAcceptsGzip(t *testing.T) {
	t.Parallel()
	for accepted, want := range map[string]bool{
		"": false, "gzip": true, "br, GZIP ; q=0.5": true, "gzip;q=0": false, "gzip;q=much": false, "deflate, br": false, "x-gzip": false,
	} {
		if got := compress.AcceptsGzip(http.Header{"Accept-Encoding": {accepted}}); got != want {
			t.Errorf("%q: %v", accepted, got)
		}
	}
}
