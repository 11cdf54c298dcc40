package webcrawler_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/webcrawler"
	"github.com/magpie-search/magpie/internal/httpx"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

// A site is a web site for tests.
type site struct {
	*httptest.Server
	mutex sync.Mutex
	pages map[string]http.HandlerFunc // by request URI
	asked []string
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{pages: make(map[string]http.HandlerFunc)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		s.asked = append(s.asked, r.URL.RequestURI())
		handler := s.pages[r.URL.RequestURI()]
		if handler == nil {
			handler = s.pages["*"]
		}
		s.mutex.Unlock()
		if handler == nil {
			http.NotFound(w, r)
			return
		}
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) on(path string, handler http.HandlerFunc) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.pages[path] = handler
}

// page serves an HTML page at a path.
func (s *site) page(path, html string) { s.serve(path, "text/html; charset=utf-8", html) }

func (s *site) serve(path, kind, body string) {
	tag := fmt.Sprintf(`"%x"`, len(body)*31+strings.Count(body, "e"))
	s.on(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, body)
	})
}

// requests returns the paths requested since the last call, without robots.txt.
func (s *site) requests() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	asked := slices.DeleteFunc(s.asked, func(p string) bool { return p == "/robots.txt" })
	s.asked = nil
	return asked
}

func kind() connectors.Kind {
	return webcrawler.Kind(httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}).DialContext)
}

// settings returns settings that start at paths of the site, without a pause.
func (s *site) settings(n connectors.State, more map[string]any, paths ...string) connectors.Settings {
	starts := make([]any, len(paths))
	for i, p := range paths {
		starts[i] = s.URL + p
	}
	config := map[string]any{"startUrls": starts, "delayMs": float64(0)}
	for name, value := range more {
		config[name] = value
	}
	return connectors.Settings{Config: config, State: n}
}

func open(t testing.TB, s connectors.Settings) connectors.Source {
	t.Helper()
	registry, err := connectors.NewRegistry(kind())
	if err != nil {
		t.Fatal(err)
	}
	k, _ := registry.Lookup("web")
	source, err := k.New(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	return source
}

// crawl walks a site to its end. With restart, a new source makes each step,
// as in another process.
func crawl(t testing.TB, s connectors.Settings, restart bool) (items []connectors.Item, warnings []string) {
	t.Helper()
	source := open(t, s)
	for cursor, steps := "", 0; ; steps++ {
		if steps > 20_000 {
			t.Fatal("the crawl does not end")
		}
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatalf("step %d: %v", steps, err)
		}
		items, warnings = append(items, page.Items...), append(warnings, page.Warnings...)
		if page.Done {
			return items, warnings
		}
		if page.Next == cursor || len(page.Next) > connectors.MaxCursorBytes {
			t.Fatalf("step %d: the cursor %q after %q", steps, page.Next, cursor)
		}
		if cursor = page.Next; restart {
			source = open(t, s)
		}
	}
}

func paths(items []connectors.Item) []string {
	out := make([]string, len(items))
	for i := range items {
		out[i] = items[i].Path
	}
	slices.Sort(out)
	return out
}

func expectPaths(t *testing.T, items []connectors.Item, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := paths(items); !slices.Equal(got, want) {
		t.Errorf("found\n%q, want\n%q", got, want)
	}
}

func TestCrawlFollowsLinksInItsScope(t *testing.T) {
	t.Parallel()
	elsewhere := newSite(t)
	elsewhere.page("/", "not ours")
	s := newSite(t)
	s.page("/docs/", `<title>Docs</title><a href="a.html">A</a> <a href="/docs/b?utm_source=x&q=1#part">B</a> <a href="/blog/">Blog</a>
		<a href="`+elsewhere.URL+`/">other</a> <a href="mailto:a@b.c">mail</a> <a href="javascript:void(0)">js</a> <a href="c" rel="nofollow">c</a>`)
	s.page("/docs/a.html", `<a href="./sub/../a.html">self</a><a href="deep/d">D</a>`)
	s.page("/docs/b?q=1", "b")
	s.page("/docs/c", "c")
	s.page("/docs/deep/d", "d")
	s.page("/blog/", "blog <a href=/docs/hidden>hidden</a>")
	s.page("/docs/hidden", "hidden")
	items, _ := crawl(t, s.settings(&connectortest.State{}, nil, "/docs/"), false)
	expectPaths(t, items, "docs/", "docs/a.html", "docs/b?q=1", "docs/deep/d")
	items, _ = crawl(t, s.settings(&connectortest.State{}, map[string]any{"scope": "host"}, "/docs/"), false)
	expectPaths(t, items, "docs/", "docs/a.html", "docs/b?q=1", "docs/deep/d", "blog/", "docs/hidden")
	items, _ = crawl(t, s.settings(&connectortest.State{}, map[string]any{"maxDepth": float64(1)}, "/docs/"), false)
	expectPaths(t, items, "docs/", "docs/a.html", "docs/b?q=1")
	items, _ = crawl(t, s.settings(&connectortest.State{}, map[string]any{"filters": map[string]any{"exclude": []any{"docs/deep"}}}, "/docs/"), false)
	expectPaths(t, items, "docs/", "docs/a.html", "docs/b?q=1")
	if asked := elsewhere.requests(); len(asked) > 0 {
		t.Errorf("another host was asked for %q", asked)
	}
	items, warnings := crawl(t, s.settings(&connectortest.State{}, map[string]any{"maxPages": float64(2)}, "/docs/"), false)
	if len(items) != 2 || len(warnings) != 1 || !strings.Contains(warnings[0], "maxPages") {
		t.Errorf("with 2 pages: %q, %q", paths(items), warnings)
	}
}

func TestRobotsRulesAreObeyed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serve("/robots.txt", "text/plain", "User-agent: *\nDisallow: /\n\nUser-agent: MagpieBot\nDisallow: /private\nCrawl-delay: 2\nSitemap: /map.txt\n")
	s.page("/", `<a href=/private/x>x</a><a href=/noindex>n</a><a href=/header>h</a><a href=/copy>c</a>`)
	s.page("/private/x", "secret")
	s.page("/noindex", `<meta name="robots" content="noindex"><a href=/from-noindex>f</a>`)
	s.page("/from-noindex", "found")
	s.on("/header", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Robots-Tag", "otherbot: none")
		w.Header().Add("X-Robots-Tag", "noindex, nofollow")
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<a href=/never>never</a>`)
	})
	s.page("/never", "never")
	s.page("/copy", `<link rel="canonical" href="/original">a copy`)
	s.page("/original", `<link rel="canonical" href="/original">the original`)
	s.serve("/map.txt", "text/plain", s.URL+"/listed\n")
	s.page("/listed", "listed")
	source := open(t, s.settings(&connectortest.State{}, nil, "/"))
	page, err := source.Walk(t.Context(), "")
	if err != nil || page.Pause != 2*time.Second {
		t.Errorf("the first step pauses %v: %v", page.Pause, err)
	}
	items, _ := crawl(t, s.settings(&connectortest.State{}, nil, "/"), true)
	expectPaths(t, items, "index", "from-noindex", "original", "listed")
	if slices.Contains(s.requests(), "/private/x") {
		t.Error("what robots.txt forbids was asked for")
	}
	if _, err := source.Open(t.Context(), connectors.Item{ID: s.URL + "/private/x"}); err == nil {
		t.Error("what robots.txt forbids can be opened")
	}
}

func TestHostWithoutRobotsForNowIsNotCrawled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.on("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	s.page("/", "page")
	_, err := open(t, s.settings(&connectortest.State{}, nil, "/")).Walk(t.Context(), "")
	if after, again := connectors.RetryAfterOf(err); !again || after != 7*time.Second {
		t.Errorf("got %v (%v)", err, after)
	}
	if asked := s.requests(); len(asked) > 0 {
		t.Errorf("it was asked for %q", asked)
	}
}

func TestNextCrawlMakesConditionalRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kept := &connectortest.State{}
	s.page("/", `<a href=/a>a</a><a href=/b>b</a>`)
	s.page("/a", "<p>first</p>")
	s.on("/b", func(w http.ResponseWriter, r *http.Request) { // no validators, and a new mark each time
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<script nonce="%d">x</script><input value="%p"><p>the same</p>`, time.Now().UnixNano(), r)
	})
	first, _ := crawl(t, s.settings(kept, nil, "/"), false)
	second, _ := crawl(t, s.settings(kept, nil, "/"), true)
	version := func(items []connectors.Item, path string) (string, bool) {
		for _, i := range items {
			if i.Path == path {
				return i.Version, i.Content != nil
			}
		}
		t.Fatalf("%s is missing", path)
		return "", false
	}
	for path, fetched := range map[string]bool{"index": false, "a": false, "b": true} {
		before, _ := version(first, path)
		after, content := version(second, path)
		if before == "" || before != after || content != fetched {
			t.Errorf("%s: version %q then %q, content %v", path, before, after, content)
		}
	}
	s.page("/a", "<p>second</p>")
	third, _ := crawl(t, s.settings(kept, nil, "/"), false)
	before, _ := version(first, "a")
	if after, content := version(third, "a"); after == before || !content {
		t.Errorf("a page that changed has version %q, before %q", after, before)
	}
	// An unchanged item can be opened at its version.
	for _, i := range second {
		if i.Content != nil {
			continue
		}
		_, err := open(t, s.settings(kept, nil, "/")).Open(t.Context(), i)
		if _, again := connectors.RetryAfterOf(err); (i.Path == "a") != again {
			t.Errorf("%s: opened at its old version: %v", i.Path, err)
		}
	}
}

func TestTrapsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.page("/", `<a href=/calendar/2024/1/1>c</a><a href=/loop/>l</a><a href=/list?page=1>p</a><a href=/round/1>r</a><a href=/big>b</a>
		<a href=/picture.png>i</a><a href=/slow-body>s</a><a href=/away>a</a><a href=/same/1>s</a><a href=/same/2>s</a><a href=/boom>b</a>`)
	s.on("*", func(w http.ResponseWriter, r *http.Request) {
		p := r.URL.Path
		w.Header().Set("Content-Type", "text/html")
		switch {
		case strings.HasPrefix(p, "/calendar/"):
			var y, m, d int
			_, _ = fmt.Sscanf(p, "/calendar/%d/%d/%d", &y, &m, &d)
			_, _ = fmt.Fprintf(w, `day %d-%d-%d <a href="/calendar/%d/%d/%d">next</a>`, y, m, d, y, m, d+1)
		case strings.HasPrefix(p, "/loop/"):
			_, _ = fmt.Fprintf(w, `%s <a href="more/">deeper</a>`, p)
		case p == "/list":
			_, _ = fmt.Fprintf(w, `%s <a href="/list?page=%s1">next</a>`, r.URL.RawQuery, r.URL.Query().Get("page"))
		case strings.HasPrefix(p, "/round/"):
			http.Redirect(w, r, map[string]string{"/round/1": "/round/2", "/round/2": "/round/1"}[p], http.StatusFound)
		case p == "/big":
			w.Header().Set("Content-Length", "99999999999")
			_, _ = io.WriteString(w, "x")
		case p == "/away":
			http.Redirect(w, r, "http://10.0.0.1/internal", http.StatusFound)
		case strings.HasPrefix(p, "/same/"):
			_, _ = io.WriteString(w, "<title>Same</title>the same page")
		case p == "/boom":
			w.WriteHeader(http.StatusInternalServerError)
		case p == "/picture.png":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write(bytes.Repeat([]byte{0}, 1000))
		default:
			http.NotFound(w, r)
		}
	})
	items, _ := crawl(t, s.settings(&connectortest.State{}, nil, "/"), true)
	count := map[string]int{}
	for _, i := range items {
		first, _, _ := strings.Cut(i.Path, "/")
		first, _, _ = strings.Cut(first, "?")
		count[first]++
		if first == "big" && (i.Size < 32<<20 || i.Content != nil) || first == "boom" && i.Content != nil {
			t.Errorf("%s has %d bytes, content %d", i.Path, i.Size, len(i.Content))
		}
	}
	if count["index"] != 1 || count["calendar"] > 100 || count["calendar"] < 10 || count["loop"] > 10 || count["list"] > 500 ||
		count["round"] != 0 || count["picture.png"] != 0 || count["big"] != 1 || count["same"] != 1 || count["boom"] != 1 || count["away"] != 0 {
		t.Errorf("found %v", count)
	}
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.page("/", "page")
	guarded := webcrawler.Kind(httpx.NewGuard(nil).DialContext)
	registry, err := connectors.NewRegistry(guarded)
	if err != nil {
		t.Fatal(err)
	}
	k, _ := registry.Lookup("web_crawler")
	source, err := k.New(t.Context(), s.settings(nil, nil, "/"))
	if err != nil {
		t.Fatal(err)
	}
	_, walked := source.Walk(t.Context(), "")
	for call, err := range map[string]error{"walk": walked, "check": source.Check(t.Context())} {
		if !connectors.IsFatal(err) || !strings.Contains(err.Error(), "ALLOWED_PRIVATE_NETWORKS") {
			t.Errorf("%s: got %v", call, err)
		}
	}
	if asked := s.requests(); len(asked) > 0 {
		t.Errorf("it was asked for %q", asked)
	}
}

func TestSitemapsOfEveryForm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = fmt.Fprintf(z, `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>%s/packed</loc></url><url><loc>/relative</loc></url><url><loc>http://elsewhere.example/x</loc></url></urlset>`, s.URL)
	_ = z.Close()
	s.serve("/sitemap.xml", "application/xml", fmt.Sprintf(`<sitemapindex><sitemap><loc>%[1]s/one.xml.gz</loc></sitemap><sitemap><loc>%[1]s/feed</loc></sitemap><sitemap><loc>%[1]s/sitemap.xml</loc></sitemap></sitemapindex>`, s.URL))
	s.serve("/one.xml.gz", "application/gzip", packed.String())
	s.serve("/feed", "application/rss+xml", fmt.Sprintf(`<rss><channel><link>%[1]s/not</link><item><link>%[1]s/news</link></item></channel>`, s.URL))
	s.page("/", "start")
	s.page("/packed", "packed")
	s.page("/relative", "relative")
	s.page("/news", "news")
	s.serve("/manual.pdf", "application/pdf", "%PDF-1.4 not really")
	s.page("/relative", `<a href=/manual.pdf>pdf</a>`)
	items, _ := crawl(t, s.settings(&connectortest.State{}, nil, "/"), true)
	expectPaths(t, items, "index", "packed", "relative", "news", "manual.pdf")
	items, _ = crawl(t, s.settings(&connectortest.State{}, map[string]any{"useSitemaps": false}, "/"), false)
	expectPaths(t, items, "index")
}

func TestPagesAreResolvedByPathAndURL(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.page("/", "start")
	s.page("/a?x=1", "a")
	s.page("/moved", "")
	s.on("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/a?x=1", http.StatusMovedPermanently)
	})
	source, ok := open(t, s.settings(nil, nil, "/")).(connectors.Resolver)
	if !ok {
		t.Fatal("pages cannot be looked up")
	}
	found, missing, err := source.Resolve(t.Context(), []string{"index", "a?x=1", s.URL + "/a?x=1#f", "moved", "gone", "http://other.example/"})
	if err != nil || !slices.Equal(missing, []string{"gone", "http://other.example/"}) {
		t.Errorf("missing %q: %v", missing, err)
	}
	expectPaths(t, found, "index", "a?x=1", "a?x=1", "a?x=1")
}

func TestCredentialsAreSentToStartHostsOnly(t *testing.T) {
	t.Parallel()
	other, s := newSite(t), newSite(t)
	seen := make(chan string, 10)
	other.on("*", func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization")
		http.NotFound(w, r)
	})
	s.on("/", func(w http.ResponseWriter, r *http.Request) {
		if user, word, _ := r.BasicAuth(); user != "ada" || word != "pass" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `in <a href="`+other.URL+`/x">x</a>`)
	})
	settings := s.settings(&connectortest.State{}, map[string]any{"scope": "domain"}, "/") // both are on one address
	if err := open(t, settings).Check(t.Context()); !connectors.IsNeedsAuth(err) {
		t.Errorf("without credentials: %v", err)
	}
	settings.Credentials = map[string]string{"username": "ada", "password": "pass"}
	if err := open(t, settings).Check(t.Context()); err != nil {
		t.Errorf("with credentials: %v", err)
	}
	items, _ := crawl(t, settings, false)
	expectPaths(t, items, "index")
	close(seen)
	for header := range seen {
		if header != "" {
			t.Errorf("another host got %q", header)
		}
	}
}

// A crawl of two thousand pages continues in other processes after any loss, and
// lists each page once.
func TestInterruptedCrawlListsEachPageOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const n = 2000
	s.on("*", func(w http.ResponseWriter, r *http.Request) {
		var i int
		if _, err := fmt.Sscanf(r.URL.Path, "/page-%d-of-the-site", &i); err != nil && r.URL.Path != "/" || i >= n {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "page %d", i)
		for k := 1; k <= 3; k++ {
			_, _ = fmt.Fprintf(w, ` <a href="/page-%d-of-the-site">%d</a>`, 3*i+k, k)
		}
	})
	kept := &connectortest.State{}
	settings := s.settings(kept, map[string]any{"scope": "host", "useSitemaps": false}, "/")
	seen := map[string]int{}
	cursor := ""
	for step := 0; ; step++ {
		source := open(t, settings)
		if step%3 == 1 { // lost before it was saved, and made again
			if _, err := source.Walk(t.Context(), cursor); err != nil {
				t.Fatal(err)
			}
			source = open(t, settings)
		}
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page.Items {
			seen[i.Path]++
		}
		if page.Done {
			break
		}
		cursor = page.Next
	}
	if len(seen) != n {
		t.Errorf("%d pages", len(seen))
	}
	for path, times := range seen {
		if times != 1 {
			t.Errorf("%s was taken %d times", path, times)
		}
	}
	first, _ := kept.Keys(t.Context(), "crawl/")
	if _, err := open(t, settings).Walk(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if names, _ := kept.Keys(t.Context(), "crawl/"); len(names) >= len(first) || len(names) == 0 {
		t.Errorf("a new crawl has %d notes, the one before had %d", len(names), len(first))
	}
}
