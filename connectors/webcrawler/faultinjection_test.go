package webcrawler_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/webcrawler"
)

// newSiteWithEverything returns a site with rules, sitemaps, pages and files.
func newSiteWithEverything(t *testing.T) (*site, connectors.Settings) {
	t.Helper()
	s := newSite(t)
	s.serve("/robots.txt", "text/plain", "User-agent: *\nDisallow: /private\nSitemap: "+s.URL+"/sitemaps.xml\n")
	s.serve("/sitemaps.xml", "application/xml", "<?xml version=\"1.0\"?>\n<sitemapindex><sitemap><loc>"+s.URL+"/docs.xml</loc></sitemap></sitemapindex>")
	s.serve("/docs.xml", "application/xml", "<?xml version=\"1.0\"?>\n<urlset><url><loc>"+s.URL+"/named</loc></url></urlset>")
	s.page("/", `<html><body><p>Start</p><a href="/a">A</a> <a href="/report.pdf">R</a> <a href="/private">P</a></body></html>`)
	s.page("/a", "<html><body><p>What is on A, and some more of it</p></body></html>")
	s.page("/named", "<html><body><p>Named by the sitemap alone</p></body></html>")
	s.serve("/report.pdf", "application/pdf", "%PDF-1.4 and what a report says")
	s.page("/private", "<html><body><p>Not for crawlers</p></body></html>")
	return s, connectors.Settings{Config: map[string]any{"startUrls": []any{s.URL + "/"}, "scope": "host", "delayMs": 0.0}}
}

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	connectortest.RunFaultInjection(t, func(t *testing.T) connectortest.FaultInjection {
		_, settings := newSiteWithEverything(t)
		return connectortest.FaultInjection{
			Kind: func(dial connectors.Dial) connectors.Kind { return webcrawler.Kind(dial) }, Settings: settings, AllowWarnings: true,
			Undetectable: func(e connectortest.Exchange, fault string) string {
				content := strings.Contains(fault, "page") || fault == "a truncated body with a matching length" || strings.ContainsAny(fault[:1], `{["`) ||
					fault == "null" || fault == "true" || strings.HasPrefix(fault, "an error")
				switch {
				case strings.HasSuffix(e.URI, ".xml") && fault == "the root element only":
					return "a sitemap may be empty"
				case e.URI == "/robots.txt" && (content || fault == "an empty body" || fault == "an empty body with the original header" || fault == "no content"):
					return "any text is a robots.txt, and a site without one may have a page in its place"
				case !strings.HasSuffix(e.URI, ".xml") && content && e.Status == http.StatusOK:
					return "whatever a site has at a URL is its content"
				}
				return ""
			},
		}
	})
}

// fullCrawl returns the items and warnings of a crawl.
func fullCrawl(t *testing.T, settings connectors.Settings) (items map[string]connectors.Item, warnings []string) {
	t.Helper()
	registry, err := connectors.NewRegistry(webcrawler.Kind(http.DefaultTransport.(*http.Transport).DialContext))
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := registry.Lookup("web")
	source, err := kind.New(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	items = map[string]connectors.Item{}
	for cursor := ""; ; {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			items[item.ID] = item
		}
		warnings = append(warnings, page.Warnings...)
		if page.Done {
			return items, warnings
		}
		cursor = page.Next
	}
}

const proxyPage = "<!DOCTYPE html><html><body>Please wait</body></html>"

func TestHTMLInsteadOfRobotsKeepsTheRules(t *testing.T) {
	t.Parallel()
	s, settings := newSiteWithEverything(t)
	settings.State = &connectortest.State{}
	before, _ := fullCrawl(t, settings)
	s.page("/robots.txt", proxyPage)
	after, _ := fullCrawl(t, settings)
	if len(before) != 4 || len(after) != len(before) || after[s.URL+"/private"].ID != "" || after[s.URL+"/named"].ID == "" {
		t.Errorf("first %d items, then %d: %v", len(before), len(after), after)
	}
}

func TestInvalidSitemapsAreReported(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"a page":  func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, proxyPage) },
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"cut off": func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<urlset><url><loc>http://x/") },
	} {
		s, settings := newSiteWithEverything(t)
		s.on("/docs.xml", answer)
		items, warnings := fullCrawl(t, settings)
		if len(items) != 3 || len(warnings) != 1 || !strings.Contains(warnings[0], "/docs.xml answers with something that is no sitemap") {
			t.Errorf("%s: %d items, warnings %q", name, len(items), warnings)
		}
	}
	// If no sitemap is expected, sites may return a page for its URL.
	s, settings := newSiteWithEverything(t)
	s.serve("/robots.txt", "text/plain", "User-agent: *\nDisallow: /private\n")
	s.page("/sitemap.xml", proxyPage)
	if items, warnings := fullCrawl(t, settings); len(items) != 3 || len(warnings) != 0 {
		t.Errorf("%d items, warnings %q", len(items), warnings)
	}
}

func TestHTMLInsteadOfAFileIsAcceptedTheSecondTime(t *testing.T) {
	t.Parallel()
	s, settings := newSiteWithEverything(t)
	settings.State = &connectortest.State{}
	fullCrawl(t, settings)
	s.page("/report.pdf", proxyPage)
	at := s.URL + "/report.pdf"
	if items, _ := fullCrawl(t, settings); items[at].Version != "" || items[at].Content != nil || items[at].ID == "" {
		t.Errorf("the first time: %+v", items[at])
	}
	if items, _ := fullCrawl(t, settings); items[at].Version == "" {
		t.Errorf("the second time: %+v", items[at])
	}
}

func TestEmptyResponsesAreNotPages(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"nothing": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") },
		"a page that calls itself PDF": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/pdf")
			_, _ = fmt.Fprint(w, proxyPage)
		},
	} {
		s, settings := newSiteWithEverything(t)
		s.on("/a", answer)
		items, _ := fullCrawl(t, settings)
		if a := items[s.URL+"/a"]; a.ID == "" || a.Version != "" || a.Content != nil {
			t.Errorf("%s: the item is %+v, want one that cannot be opened", name, a)
		}
	}
}
