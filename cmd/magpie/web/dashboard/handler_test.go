package dashboard_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/magpie-search/magpie/cmd/magpie/web/dashboard"
)

const index = `<!doctype html><meta property="csp-nonce" nonce="__CSP_NONCE__"><style nonce="__CSP_NONCE__"></style><script type="module" src="/assets/index-Ab_3-x.js"></script>`

func site() fstest.MapFS {
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	return fstest.MapFS{
		"index.html": text(index), "favicon.svg": text("<svg/>"), ".source": text("hash"), "operations.graphql": text("{ me { role } }"),
		"assets/index-Ab_3-x.js": text(strings.Repeat("export const magpie = 1;\n", 100)), "assets/style-1.css": text(strings.Repeat("a{color:red}", 50)),
		"assets/font-1.woff2": text("wOF2"), "assets/_plugin-2.js": text("1"),
	}
}

func open(t *testing.T, from fs.FS) *dashboard.Handler {
	t.Helper()
	h, err := dashboard.New(from)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func get(t *testing.T, h http.HandlerFunc, method, path string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h(w, r)
	return w.Result()
}

func content(t *testing.T, response *http.Response) []byte {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestFilesAreServedWithTheirKind(t *testing.T) {
	t.Parallel()
	from := site()
	h := open(t, from)
	const forever, anHour = "public, max-age=31536000, immutable", "public, max-age=3600"
	for path, want := range map[string]struct{ kind, cache string }{
		"/assets/index-Ab_3-x.js": {"text/javascript; charset=utf-8", forever}, "/assets/style-1.css": {"text/css; charset=utf-8", forever},
		"/assets/font-1.woff2": {"font/woff2", forever}, "/assets/_plugin-2.js": {"text/javascript; charset=utf-8", forever}, "/favicon.svg": {"image/svg+xml", anHour},
	} {
		got := get(t, h.ServeHTTP, http.MethodGet, path)
		if !h.Serves(path) || got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != want.kind || got.Header.Get("Cache-Control") != want.cache {
			t.Errorf("%s: %d %v", path, got.StatusCode, got.Header)
		}
		if got.Header.Get("X-Content-Type-Options") != "nosniff" || got.Header.Get("Vary") != "Accept-Encoding" || got.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %v", path, got.Header)
		}
		if body := content(t, got); !bytes.Equal(body, from[path[1:]].Data) {
			t.Errorf("%s: %q", path, body)
		}
		if head := get(t, h.ServeHTTP, http.MethodHead, path); head.Header.Get("Content-Length") != got.Header.Get("Content-Length") || len(content(t, head)) != 0 {
			t.Errorf("HEAD %s: %v", path, head.Header)
		}
	}
	for _, path := range []string{
		"/", "/index.html", "/.source", "/operations.graphql", "/assets", "/assets/", "/assets/index.js", "/assets/../index.html", "//favicon.svg", "/favicon.svg/", "/FAVICON.svg", "favicon.svg", "",
	} {
		if h.Serves(path) {
			t.Errorf("%q is served", path)
		}
	}
	if got := get(t, h.ServeHTTP, http.MethodGet, "/assets/gone.js"); got.StatusCode != http.StatusNotFound {
		t.Errorf("a missing file: %d", got.StatusCode)
	}
}

func TestFilesAreCompressedForWhoAcceptsIt(t *testing.T) {
	t.Parallel()
	from := site()
	h := open(t, from)
	const path = "/assets/index-Ab_3-x.js"
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got := get(t, h.ServeHTTP, http.MethodGet, path, "Accept-Encoding", "br, gzip")
			zip, err := gzip.NewReader(got.Body)
			if err != nil || got.Header.Get("Content-Encoding") != "gzip" || got.ContentLength >= int64(len(from[path[1:]].Data))/4 {
				t.Errorf("%v %v", err, got.Header)
				return
			}
			if body, err := io.ReadAll(zip); err != nil || !bytes.Equal(body, from[path[1:]].Data) {
				t.Errorf("%v %q", err, body)
			}
		})
	}
	all.Wait()
	for _, headers := range [][]string{nil, {"Accept-Encoding", "br"}, {"Accept-Encoding", "gzip;q=0"}} {
		if got := get(t, h.ServeHTTP, http.MethodGet, path, headers...); got.Header.Get("Content-Encoding") != "" || !bytes.Equal(content(t, got), from[path[1:]].Data) {
			t.Errorf("%q: %v", headers, got.Header)
		}
	}
	// What does not become smaller is sent as it is.
	if got := get(t, h.ServeHTTP, http.MethodGet, "/assets/font-1.woff2", "Accept-Encoding", "gzip"); got.Header.Get("Content-Encoding") != "" || string(content(t, got)) != "wOF2" {
		t.Errorf("a small file: %v", got.Header)
	}
}

func TestEachPageHasANonceOfItsOwn(t *testing.T) {
	t.Parallel()
	h := open(t, site())
	nonce := regexp.MustCompile(`'nonce-([A-Z2-7]{26})'`)
	seen := map[string]bool{}
	for range 3 {
		got := get(t, h.Page, http.MethodGet, "/search?q=x")
		policy := got.Header.Get("Content-Security-Policy")
		found := nonce.FindStringSubmatch(policy)
		if found == nil {
			t.Fatalf("the policy is %q", policy)
		}
		seen[found[1]] = true
		if want := strings.ReplaceAll(index, "__CSP_NONCE__", found[1]); string(content(t, got)) != want {
			t.Errorf("the page is not %q", want)
		}
		rules := strings.Split(policy, "; ")
		for _, want := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self' 'nonce-" + found[1] + "'", "img-src 'self' data: blob:", "font-src 'self'", "connect-src 'self'",
			"frame-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'",
		} {
			if !slices.Contains(rules, want) {
				t.Errorf("the policy %q has no %s", policy, want)
			}
		}
		if strings.Contains(policy, "unsafe") || len(rules) != 11 {
			t.Errorf("the policy is %q", policy)
		}
		for name, want := range map[string]string{
			"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "Vary": "Accept",
		} {
			if got.Header.Get(name) != want {
				t.Errorf("%s: %q", name, got.Header.Get(name))
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("the nonces are %v", seen)
	}
	if head := get(t, h.Page, http.MethodHead, "/"); head.StatusCode != http.StatusOK || len(content(t, head)) != 0 || head.Header.Get("Content-Length") == "" {
		t.Errorf("HEAD: %d %v", head.StatusCode, head.Header)
	}
}

func TestASiteThatCannotBeServedIsRefused(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(fstest.MapFS){
		"no page":           func(s fstest.MapFS) { delete(s, "index.html") },
		"no place of nonce": func(s fstest.MapFS) { s["index.html"] = &fstest.MapFile{Data: []byte("<html>")} },
		"an unknown kind":   func(s fstest.MapFS) { s["assets/a.exe"] = &fstest.MapFile{} },
		"a source map":      func(s fstest.MapFS) { s["assets/a.js.map"] = &fstest.MapFile{} },
	} {
		from := site()
		change(from)
		if _, err := dashboard.New(from); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}

func TestBrowsersThatOpenAPageAreKnownByWhatTheyAccept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, accept string
		want           bool
	}{
		{http.MethodGet, "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", true}, {http.MethodHead, "TEXT/HTML", true},
		{http.MethodGet, "application/xhtml+xml, text/html;q=0.9", true}, {http.MethodGet, "*/*", false}, {http.MethodGet, "", false},
		{http.MethodGet, "application/json", false}, {http.MethodGet, "text/htmlx", false}, {http.MethodPost, "text/html", false}, {http.MethodOptions, "text/html", false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, "/", http.NoBody)
		r.Header.Set("Accept", c.accept)
		if got := dashboard.Navigates(r); got != c.want {
			t.Errorf("%s, %q: %v", c.method, c.accept, got)
		}
	}
}

func TestTheBuiltSiteCanBeServed(t *testing.T) {
	t.Parallel()
	from, ok := dashboard.Site()
	if !ok {
		t.Fatal("the program has no site")
	}
	h := open(t, from)
	page := string(content(t, get(t, h.Page, http.MethodGet, "/")))
	named := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(named) < 2 {
		t.Fatalf("the page is %s", page)
	}
	for _, file := range named {
		if !h.Serves(file[1]) {
			t.Errorf("the page names %s", file[1])
		}
	}
	if strings.Contains(page, "<style") || strings.Contains(page, "<script>") || strings.Contains(page, " on") && regexp.MustCompile(`\son[a-z]+=`).MatchString(page) {
		t.Errorf("the policy forbids what is in the page: %s", page)
	}
}
