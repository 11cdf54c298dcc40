package syncer_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/webcrawler"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestInlineContentPausesWarningsAndState(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.States = state.New(f.db.Pool)
	f.script.fill(3, "1")
	f.script.PageSize = 1
	var steps []time.Time
	f.script.hooks(func(ctx context.Context, cursor string) error {
		steps = append(steps, time.Now())
		kept := f.script.Settings.State
		if err := kept.Put(ctx, "seen/"+cursor, []byte(cursor)); err != nil {
			return err
		}
		_, err := kept.Get(ctx, "seen/")
		return err
	}, func(context.Context, string) error { return fmt.Errorf("inline content must not be opened") })
	f.script.Reshape = func(page connectors.Page) connectors.Page {
		for i := range page.Items {
			page.Items[i].Content = []byte("# At hand\n\n" + page.Items[i].Path)
		}
		page.Warnings, page.Pause = []string{"Half of it is hidden."}, 60*time.Millisecond
		return page
	}
	f.work()
	job := f.sync(syncjob.StartOptions{})
	if job.Status != entjob.StatusCompleted || job.Added != 3 || len(job.Warnings) != 1 || job.Warnings[0] != "Half of it is hidden." {
		t.Errorf("the job is %+v", job)
	}
	if len(steps) < 3 || steps[1].Sub(steps[0]) < 60*time.Millisecond {
		t.Errorf("the steps were at %v", steps)
	}
}

func TestASiteIsSynced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.States = state.New(f.db.Pool)
	text := "first"
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/":
			_, _ = fmt.Fprint(w, `<title>Home</title><main><h1>Home</h1><p>Welcome to the <a href="/guide/">guide</a> and the <a href="/notes.txt">notes</a>.</p></main>`)
		case "/guide/":
			_, _ = fmt.Fprintf(w, `<title>Guide</title><main><h1>Guide</h1><p>The %s walrus sleeps on the ice.</p></main>`, text)
		case "/notes.txt":
			w.Header().Set("Content-Type", "text/plain")
			_, _ = fmt.Fprint(w, "Some notes.")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	var err error
	f.registry, err = connectors.NewRegistry(webcrawler.Kind(guard.DialContext))
	f.must(err)
	f.row = f.connector("web_crawler", map[string]any{"startUrls": []any{site.URL + "/"}, "delayMs": float64(0)})
	f.work()
	job := f.sync(syncjob.StartOptions{})
	if job.Status != entjob.StatusCompleted || job.Added != 3 || job.Failed != 0 {
		t.Fatalf("the first job is %+v", job)
	}
	row, err := f.db.Ent.Document.Query().Where(document.ConnectorID(f.row.ID), document.Path("guide/")).Only(f.ctx)
	f.must(err)
	if row.Title != "Guide" || row.URL == nil || *row.URL != site.URL+"/guide/" {
		t.Errorf("the guide is %+v", row)
	}
	text = "second"
	f.clock.advance(time.Hour)
	if job = f.sync(syncjob.StartOptions{}); job.Modified != 1 || job.Unchanged != 2 || job.Deleted != 0 {
		t.Errorf("the second job is %+v", job)
	}
	content, err := f.index.Content(f.ctx, f.scope, row.ID)
	f.must(err)
	if !strings.Contains(content, "second walrus") {
		t.Errorf("the guide says %q", content)
	}
}

// A drippingSite sends one page endlessly. It counts requests and the bytes of
// bodies.
type drippingSite struct {
	pages int
	drip  string // the path
	slow  time.Duration
	mu    sync.Mutex
	asked map[string]int
	bytes atomic.Int64
}

func (s *drippingSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.Path]++
	s.mu.Unlock()
	if r.URL.Path == "/robots.txt" || r.URL.Path == "/sitemap.xml" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	send := func(text string) {
		n, _ := w.Write([]byte(text))
		s.bytes.Add(int64(n))
		_ = http.NewResponseController(w).Flush()
	}
	if r.URL.Path == s.drip {
		send("<title>Drip</title><main>")
		for {
			send("drop ")
			if testkit.Delay(r.Context(), 20*time.Millisecond) != nil {
				return
			}
		}
	}
	_ = testkit.Delay(r.Context(), s.slow)
	var links strings.Builder
	if r.URL.Path == "/" {
		for i := range s.pages {
			fmt.Fprintf(&links, `<a href="/p/%d">%d</a> `, i, i)
		}
	}
	send(fmt.Sprintf("<title>%s</title><main><h1>Page %s</h1><p>The walrus of %s sleeps.</p>%s</main>", r.URL.Path, r.URL.Path, r.URL.Path, links.String()))
}

func (f *fixture) crawler(site http.Handler, patience time.Duration, config map[string]any) {
	f.Helper()
	f.options.States = state.New(f.db.Pool)
	server := httptest.NewServer(site)
	f.Cleanup(server.Close)
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	var err error
	f.registry, err = connectors.NewRegistry(webcrawler.Kind(guard.DialContext, webcrawler.WithTimeout(patience)))
	f.must(err)
	all := map[string]any{"startUrls": []any{server.URL + "/"}, "delayMs": float64(0)}
	maps.Copy(all, config)
	f.row = f.connector("web_crawler", all)
}

// A page that takes longer than a slice fails alone.
func TestAPageThatDripsDoesNotStallACrawl(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]map[string]any{"at once": nil, "with a pause": {"delayMs": float64(1)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.options.SliceTime, f.options.ShareTime = 300*time.Millisecond, 50*time.Millisecond
			f.options.Parallel = 1
			site := &drippingSite{pages: 45, drip: "/p/7", slow: 10 * time.Millisecond, asked: map[string]int{}}
			f.crawler(site, 600*time.Millisecond, config)
			f.work()
			job := f.sync(auto())
			f.expect(job, entjob.StatusPartial, syncjob.Counters{Collected: 46, Added: 45, Failed: 1})
			site.mu.Lock()
			for path, n := range site.asked {
				most := 1
				switch path {
				case "/robots.txt": // each slice asks again
					continue
				case site.drip:
					most = 3
				}
				if n > most {
					t.Errorf("%s was fetched %d times, want at most %d", path, n, most)
				}
			}
			site.mu.Unlock()
			f.expectEntry("p/7", syncitem.StatusFailed, "was not there within 0.6 seconds")
			if line := f.ledger()["p/7"]; line != nil && !line.Retryable {
				t.Error("the failure is not retryable")
			}
			if job.Turns < 2 {
				t.Errorf("the sync was one slice: %d turns", job.Turns)
			}
			// A sync of the page alone fails as fast.
			before := site.count(site.drip)
			f.expect(f.sync(incremental("p/7", "p/8")), entjob.StatusPartial, syncjob.Counters{Collected: 2, Unchanged: 1, Failed: 1})
			if n := site.count(site.drip) - before; n > 1 {
				t.Errorf("one resolve fetched it %d times", n)
			}
		})
	}
}

func (s *drippingSite) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

// Slices wait once for a page that is always busy, and do not fetch earlier pages
// again.
func TestAPageThatIsAlwaysBusyIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := &drippingSite{pages: 12, asked: map[string]int{}}
	f.crawler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/p/5" {
			site.mu.Lock()
			site.asked[r.URL.Path]++
			site.mu.Unlock()
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		site.ServeHTTP(w, r)
	}), time.Minute, nil)
	f.work()
	f.expect(f.sync(auto()), entjob.StatusPartial, syncjob.Counters{Collected: 13, Added: 12, Failed: 1})
	f.expectEntry("p/5", syncitem.StatusFailed, "answers 503")
	site.mu.Lock()
	defer site.mu.Unlock()
	for path, n := range site.asked {
		if most := map[string]int{"/p/5": 5, "/robots.txt": 9, "/sitemap.xml": 9}[path]; n > max(most, 1) {
			t.Errorf("%s was fetched %d times", path, n)
		}
	}
}
