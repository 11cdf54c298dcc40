package syncer_test

import (
	"fmt"
	"io"
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
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// sitePages is the number of real pages of the site.
const sitePages = 2000

// An endlessSite has real pages, which link to traps for crawlers. It counts
// requests.
type endlessSite struct {
	bodies   atomic.Int64 // answers with a body
	bytes    atomic.Int64
	mu       sync.Mutex
	requests map[string]int // by the first folder
}

func (s *endlessSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	folder, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	s.requests[folder]++
	s.mu.Unlock()
	html := func(format string, arguments ...any) {
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		s.bodies.Add(1)
		n, _ := fmt.Fprintf(w, format, arguments...)
		s.bytes.Add(int64(n))
	}
	path := r.URL.Path
	var a, b, c int
	switch {
	case path == "/robots.txt":
		_, _ = io.WriteString(w, "User-agent: *\nDisallow: /secret/\nSitemap: /sitemap.xml\n")
	case path == "/":
		html(`<title>Home</title><main><h1>Home</h1><p>Begin at <a href="/docs/0?utm_source=home#top">the first page</a>.</p></main>`)
	case strings.HasPrefix(path, "/docs/"):
		if _, err := fmt.Sscanf(path, "/docs/%d", &a); err != nil || a >= sitePages || fmt.Sprintf("/docs/%d", a) != path {
			http.NotFound(w, r)
			return
		}
		var links strings.Builder
		for _, to := range []int{2*a + 1, 2*a + 2, a / 2, (a + 7) % sitePages} {
			if to < sitePages {
				fmt.Fprintf(&links, `<a href="/docs/%d?utm_campaign=%d#part">page %d</a> `, to, a, to)
			}
		}
		html(`<html><head><title>Page %d</title><link rel="canonical" href="/docs/%d"></head><body><nav><a href="/">Home</a></nav>
			<main><h1>Page %d</h1><p>The walrus of page %d sleeps on the ice of bay %d.</p><p>%s</p></main>
			<footer><a href="/calendar/2026/%d/1">calendar</a> <a href="/loop/a">loop</a> <a href="/deep/">deep</a> <a href="/session?sid=%d">session</a>
			<a href="/huge">all of it</a> <a href="/film.mp4">film</a> <a href="/inside">inside</a> <a href="/metadata">metadata</a> <a href="/secret/1">secret</a>
			<a href="mailto:a@example.com">mail</a> <a href="javascript:void(0)">act</a> <a href="http://127.0.0.1:1/elsewhere">elsewhere</a></footer></body></html>`,
			a, a, a, a, a%13, links.String(), a%12+1, a)
	case strings.HasPrefix(path, "/calendar/"):
		_, _ = fmt.Sscanf(path, "/calendar/%d/%d/%d", &a, &b, &c)
		html(`<title>Day %d-%d-%d</title><p>Nothing happens on this day. <a href="/calendar/%d/%d/%d">next</a> <a href="/calendar/%d/%d/1">next month</a></p>`, a, b, c, a, b, c+1, a, b+1)
	case path == "/loop/a":
		http.Redirect(w, r, "/loop/b", http.StatusFound)
	case path == "/loop/b":
		http.Redirect(w, r, "/loop/a", http.StatusFound)
	case strings.HasPrefix(path, "/deep/"):
		html(`<title>Deep</title><p>%s <a href="deep/">deeper</a></p>`, path)
	case path == "/session":
		html(`<title>Session</title><p>%s <a href="/session?sid=%s1">again</a></p>`, r.URL.RawQuery, r.URL.Query().Get("sid"))
	case path == "/huge":
		w.Header().Set("Content-Type", "text/html")
		block := strings.Repeat("<p>more and more of it</p>", 4096)
		for range 2000 { // 200 MB without a Content-Length
			n, err := io.WriteString(w, block)
			if s.bytes.Add(int64(n)); err != nil {
				return
			}
		}
	case path == "/film.mp4":
		w.Header().Set("Content-Type", "video/mp4")
		w.Header().Set("Content-Length", "4000000000")
		_, _ = io.WriteString(w, "film")
	case path == "/inside":
		http.Redirect(w, r, "http://10.0.0.1/admin", http.StatusFound)
	case path == "/metadata":
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusMovedPermanently)
	default:
		http.NotFound(w, r)
	}
}

func TestALargeSiteFullOfTrapsIsSynced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.States = state.New(f.db.Pool)
	site := &endlessSite{requests: map[string]int{}}
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	var err error
	f.registry, err = connectors.NewRegistry(webcrawler.Kind(guard.DialContext))
	f.must(err)
	f.row = f.connector("web_crawler", map[string]any{"startUrls": []any{server.URL + "/"}, "delayMs": float64(0), "scope": "host"})
	f.work()
	began := time.Now()
	job := f.sync(syncjob.StartOptions{})
	took := time.Since(began)
	if job.Status != entjob.StatusCompleted && job.Status != entjob.StatusPartial {
		t.Fatalf("the job is %+v", job)
	}
	pages, traps := 0, map[string]int{}
	for path := range f.documents() {
		folder, rest, _ := strings.Cut(path, "/")
		if folder == "docs" && !strings.Contains(rest, "?") {
			pages++
			continue
		}
		traps[strings.SplitN(folder, "?", 2)[0]]++
	}
	t.Logf("%d pages and %v in %s; %d answers with a body, %d MiB, asked for %v", pages, traps, took, site.bodies.Load(), site.bytes.Load()>>20, site.requests)
	if pages != sitePages {
		t.Errorf("%d of %d pages were indexed", pages, sitePages)
	}
	for folder, most := range map[string]int{"calendar": 700, "deep": 5, "session": 600, "loop": 0, "film.mp4": 0, "inside": 0, "metadata": 0, "secret": 0} {
		if traps[folder] > most {
			t.Errorf("%d documents of %s, want at most %d", traps[folder], folder, most)
		}
	}
	if site.requests["secret"] > 0 || site.requests["huge"] > 3 || site.requests["docs"] > sitePages+sitePages/10 {
		t.Errorf("requests %v", site.requests)
	}
	bodies := site.bodies.Load()
	f.clock.advance(time.Hour)
	if job = f.sync(syncjob.StartOptions{}); job.Added != 0 || job.Modified != 0 || job.Deleted != 0 {
		t.Errorf("the second job is %+v", job)
	}
	if again := site.bodies.Load() - bodies; again > 50 {
		t.Errorf("%d pages were fetched again although nothing changed", again)
	}
}
