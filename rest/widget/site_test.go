package widget_test

import (
	"flag"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/magpie-search/magpie/rest/widget"
)

// pictures is the folder of screenshots: go test ./rest/widget -pictures FOLDER.
var pictures = flag.String("pictures", "", "folder for screenshots of the widget")

// site is a website whose hosts are below example.com.
type site struct {
	port    string
	scripts *widget.Handler

	mu    sync.Mutex
	pages map[string]page
}

// page is a page of a site.
type page struct {
	attributes map[string]string // of the script element
	policy     string            // Content-Security-Policy
	html       string            // the attributes of the html element
	body       string            // HTML before the script
	bare       bool              // without the widget
}

const article = `<main><h1>Handbook</h1><p>How we work, and how the service is run. Rotate keys once a year, keep backups for a month.</p>
<p><button id="opener" data-magpie-open>Search the handbook</button> <a id="link" href="#chat" data-magpie-open="chat">Ask</a>
<input id="field" aria-label="A field of the page"></p></main>`

func newSite(t *testing.T) *site {
	t.Helper()
	scripts, err := widget.New()
	if err != nil {
		t.Fatal(err)
	}
	s := &site{scripts: scripts, pages: map[string]page{}}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s.port = port
	return s
}

// put adds a page and returns its URL on a host.
func (s *site) put(host, path string, p page) (address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = p
	return "http://" + host + ":" + s.port + path
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	p, ok := s.pages[r.URL.Path]
	s.mu.Unlock()
	switch {
	case s.scripts.Serves(r.URL.Path):
		s.scripts.ServeHTTP(w, r)
		return
	case strings.HasPrefix(r.URL.Path, "/testdata/"):
		w.Header().Set("Content-Type", "text/javascript")
		http.ServeFile(w, r, "."+r.URL.Path)
		return
	case !ok:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if p.policy != "" {
		w.Header().Set("Content-Security-Policy", p.policy)
	}
	if p.html == "" {
		p.html = `lang="en"`
	}
	if p.body == "" {
		p.body = article
	}
	script := ""
	if !p.bare {
		var attributes strings.Builder
		for name, value := range p.attributes {
			fmt.Fprintf(&attributes, ` %s="%s"`, name, html.EscapeString(value))
		}
		script = "<script" + attributes.String() + " defer></script>"
	}
	_, _ = io.WriteString(w, "<!doctype html><html "+p.html+`><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">`+
		`<title>Handbook</title><link rel="icon" href="data:,">`+script+"</head><body>"+p.body+"</body></html>")
}

// double is a Magpie server whose responses a test sets.
type double struct {
	url string

	mu      sync.Mutex
	search  http.HandlerFunc
	chat    http.HandlerFunc
	suggest http.HandlerFunc // nil for no completions
	bodies  []string         // of the requests, without those for completions
	typed   []string         // queries of those
}

func newDouble(t *testing.T) *double {
	t.Helper()
	scripts, err := widget.New()
	if err != nil {
		t.Fatal(err)
	}
	d := &double{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if scripts.Serves(r.URL.Path) {
			scripts.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Headers", "*")
		w.Header().Set("Access-Control-Expose-Headers", "X-Conversation-Id, X-Request-Id, Retry-After")
		w.Header().Set("X-Request-Id", "request-7")
		if r.Method == http.MethodOptions {
			return
		}
		if r.URL.Path == "/v1/docs/suggest" {
			d.mu.Lock()
			d.typed = append(d.typed, r.URL.RawQuery)
			answer := d.suggest
			d.mu.Unlock()
			if answer == nil {
				answer = completions()
			}
			answer(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		d.mu.Lock()
		d.bodies = append(d.bodies, string(body))
		answer := d.search
		if r.URL.Path == "/v1/chat/stream" {
			answer = d.chat
		}
		d.mu.Unlock()
		if r.URL.Path == "/v1/docs/events" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if answer == nil {
			http.NotFound(w, r)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	d.url = server.URL
	return d
}

func (d *double) answers(search, chat http.HandlerFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.search, d.chat = search, chat
}

// suggests sets the response to requests for completions.
func (d *double) suggests(suggest http.HandlerFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.suggest = suggest
}

// suggestions returns the queries of the requests for completions.
func (d *double) suggestions() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.typed...)
}

func (d *double) requests() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.bodies...)
}

// attributes returns the attributes of a script element.
func attributes(magpie, key string, more ...string) map[string]string {
	out := map[string]string{"src": magpie + widget.ScriptPath, "data-key": key}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}
