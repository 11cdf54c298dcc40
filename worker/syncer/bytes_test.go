package syncer_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// The job counts every byte of pages and files that the site sends: pages that are
// not indexed, duplicate pages, truncated bodies and unchanged pages.
func TestBytesFetchedFromASiteAreExact(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := &drippingSite{pages: 25, asked: map[string]int{}}
	f.crawler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		send := func(kind, text string) {
			w.Header().Set("Content-Type", kind)
			n, _ := io.WriteString(w, text)
			site.bytes.Add(int64(n))
		}
		switch r.URL.Path {
		case "/p/3":
			send("text/html", `<meta name="robots" content="noindex"><title>Hidden</title><main><p>Nobody finds this.</p></main>`)
		case "/p/4", "/p/5":
			send("text/html", `<title>Twice</title><main><p>The same page at two addresses.</p></main>`)
		case "/p/6":
			w.Header().Set("Content-Length", "100000")
			send("text/html", strings.Repeat("It breaks off. ", 100))
		case "/p/7":
			w.WriteHeader(http.StatusInternalServerError) // no content: an error
			_, _ = io.WriteString(w, "Something is wrong.")
		case "/p/8":
			send("text/plain", "A file.")
		default:
			site.ServeHTTP(w, r)
		}
	}), time.Minute, nil)
	f.work()
	first := f.sync(auto())
	f.expect(first, entjob.StatusPartial, syncjob.Counters{Collected: 24, Added: 22, Failed: 2})
	sent := site.bytes.Swap(0)
	if first.BytesFetched != sent {
		t.Errorf("the first job says %d bytes, the site sent %d", first.BytesFetched, sent)
	}
	f.clock.advance(time.Hour)
	second := f.sync(auto())
	if sent = site.bytes.Swap(0); second.BytesFetched != sent || second.Unchanged != 22 {
		t.Errorf("the second job says %d bytes, the site sent %d: %+v", second.BytesFetched, sent, second)
	}
	third := f.sync(incremental("p/1", "p/6", "p/8"))
	if sent = site.bytes.Swap(0); third.BytesFetched != sent {
		t.Errorf("the resolve job says %d bytes, the site sent %d", third.BytesFetched, sent)
	}
}

// A worker that dies in a page has counted the bytes it read. The next worker counts
// the bytes that it reads again.
func TestBytesFetchedAreExactAcrossATakeover(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.worker.Stale = 500 * time.Millisecond
	site := &drippingSite{pages: 30, asked: map[string]int{}}
	reached, open := make(chan struct{}), make(chan struct{})
	var blocked atomic.Bool
	f.crawler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/p/27" && blocked.CompareAndSwap(false, true) {
			close(reached)
			<-open
			return
		}
		site.ServeHTTP(w, r)
	}), time.Minute, nil)
	job := f.start(auto())
	dead := f.engine(f.newJobs(syncjob.Times{Heartbeat: time.Hour, Progress: 5 * time.Millisecond}))
	ended := make(chan error, 1)
	go func() { ended <- dead.Sync(f.Context(), queue.Sync{JobID: job.ID}) }()
	<-reached
	for deadline := time.Now().Add(20 * time.Second); f.job(job.ID).BytesFetched != site.bytes.Load(); {
		if time.Now().After(deadline) {
			t.Fatalf("the job says %d bytes, the site sent %d", f.job(job.ID).BytesFetched, site.bytes.Load())
		}
	}
	f.work()
	done := f.wait(job.ID)
	f.expect(done, entjob.StatusCompleted, syncjob.Counters{Collected: 31, Added: 31})
	if sent := site.bytes.Load(); done.BytesFetched != sent {
		t.Errorf("the job says %d bytes, the site sent %d", done.BytesFetched, sent)
	}
	close(open)
	f.must(<-ended)
}
