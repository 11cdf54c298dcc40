package command_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

// cutting is a proxy that cuts the first connections of subscriptions off, after an event each.
func cutting(t *testing.T, m *stacktest.Magpie, most int32) (address string, cuts *atomic.Int32) {
	t.Helper()
	to, err := url.Parse(m.URL)
	if err != nil {
		t.Fatal(err)
	}
	cuts = &atomic.Int32{}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1, Transport: transport,
		ModifyResponse: func(r *http.Response) error {
			if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") && cuts.Add(1) <= most {
				r.Body = &cutBody{ReadCloser: r.Body}
			}
			return nil
		},
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL, cuts
}

// cutBody fails after the first event.
type cutBody struct {
	io.ReadCloser
	over bool
}

func (b *cutBody) Read(into []byte) (int, error) {
	if b.over {
		panic(http.ErrAbortHandler)
	}
	n, err := b.ReadCloser.Read(into)
	if _, after, found := strings.Cut(string(into[:n]), "data: {"); found {
		if event, _, whole := strings.Cut(after, "\n\n"); whole {
			b.over = true
			return n - len(after) + len(event) + len("\n\n"), nil
		}
	}
	return n, err
}

func TestASyncIsWatchedOverConnectionsThatAreCutOff(t *testing.T) {
	t.Parallel()
	m := stacktest.Start(t)
	address, cuts := cutting(t, m, 3)
	s := remoteShell(t, "MAGPIE_URL="+address, "MAGPIE_TOKEN="+personalToken(m))
	s.ok("collections", "create", "Docs")
	s.ok("connectors", "create", "--name", "Files", "--type", "file_upload", "--collection", "Docs")
	file := filepath.Join(t.TempDir(), "keys.md")
	if err := os.WriteFile(file, []byte("# Keys\n\nRotate the signing key every year.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.ok("files", "upload", "Files", file)
	var job struct {
		ID, Status string
		Stats      struct{ Added int }
	}
	if s.read(&job, "sync", "start", "Files"); job.Status != "COMPLETED" || job.Stats.Added != 1 || cuts.Load() < 4 {
		t.Errorf("%+v after %d connections", job, cuts.Load())
	}
	cuts.Store(0)
	if out := s.ok("sync", "watch", job.ID); strings.Count(out, job.ID) != 1 || !strings.Contains(out, "completed") || cuts.Load() != 4 {
		t.Errorf("%d connections: %s", cuts.Load(), out)
	}
}
