package webcrawler

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"github.com/magpie-search/magpie/internal/safetext"
)

// maxLinks is the number of links of one page that are followed.
const maxLinks = 2000

// A page has the facts of an HTML page that a crawl needs.
type page struct {
	title     string
	canonical *url.URL // the page's own, nil for none
	links     []*url.URL
	noIndex   bool
	noFollow  bool
	// version is the hash of the visible text. Hidden values that change with
	// each response do not change it.
	version string
}

// parsePage parses a page and the robots tag in its header.
func parsePage(pageURL *url.URL, header http.Header, body []byte) *page {
	p := &page{}
	for _, value := range header.Values("X-Robots-Tag") {
		p.applyRobotsTag(value)
	}
	reader, err := charset.NewReader(bytes.NewReader(body), header.Get("Content-Type"))
	if err != nil {
		reader = bytes.NewReader(body)
	}
	base := pageURL
	seen := map[string]bool{}
	hash := sha256.New()
	hidden, inTitle := 0, false
	addLink := func(text string) {
		if len(p.links) >= maxLinks {
			return
		}
		if u, err := canonicalURL(base, text); err == nil && !seen[u.String()] {
			seen[u.String()] = true
			p.links = append(p.links, u)
		}
	}
	z := html.NewTokenizer(reader)
	z.SetMaxBuf(1 << 20)
	for {
		switch z.Next() {
		case html.ErrorToken:
			p.version = hex.EncodeToString(hash.Sum(nil)[:16])
			if p.noFollow {
				p.links = nil
			}
			return p
		case html.TextToken:
			text := bytes.Join(bytes.Fields(z.Text()), []byte(" "))
			if len(text) == 0 {
				continue
			}
			if inTitle && p.title == "" {
				p.title = safetext.TruncateBytes(string(text), 500)
			}
			if hidden == 0 {
				_, _ = hash.Write(text)
				_, _ = hash.Write([]byte{'\n'})
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			switch t.DataAtom {
			case atom.Script, atom.Style, atom.Template, atom.Noscript:
				if t.Type == html.StartTagToken {
					hidden++
				}
			case atom.Title:
				inTitle = true
			case atom.Base:
				if u, err := canonicalURL(pageURL, attribute(t, "href")); err == nil {
					base = u
				}
			case atom.Meta:
				switch strings.ToLower(attribute(t, "name")) {
				case "robots", strings.ToLower(agentName):
					p.applyRobotsTag(attribute(t, "content"))
				}
				if strings.EqualFold(attribute(t, "http-equiv"), "refresh") {
					if _, to, ok := strings.Cut(strings.ToLower(attribute(t, "content")), "url="); ok {
						content := attribute(t, "content")
						addLink(strings.Trim(content[len(content)-len(to):], `'" `))
					}
				}
			case atom.Link:
				rel := " " + strings.ToLower(attribute(t, "rel")) + " "
				if strings.Contains(rel, " canonical ") && p.canonical == nil {
					if u, err := canonicalURL(base, attribute(t, "href")); err == nil {
						p.canonical = u
					}
				}
				if strings.Contains(rel, " next ") || strings.Contains(rel, " prev ") {
					addLink(attribute(t, "href"))
				}
			case atom.A, atom.Area:
				if rel := " " + strings.ToLower(attribute(t, "rel")) + " "; !strings.Contains(rel, " nofollow ") {
					if href := attribute(t, "href"); href != "" {
						addLink(href)
					}
				}
			case atom.Frame, atom.Iframe:
				addLink(attribute(t, "src"))
			}
		case html.EndTagToken:
			switch t := z.Token(); t.DataAtom {
			case atom.Script, atom.Style, atom.Template, atom.Noscript:
				hidden = max(hidden-1, 0)
			case atom.Title:
				inTitle = false
			}
		}
	}
}

// applyRobotsTag applies the directives of a robots tag, unless they are for
// another crawler.
func (p *page) applyRobotsTag(directives string) {
	if agent, rest, ok := strings.Cut(directives, ":"); ok && !strings.ContainsAny(agent, ", ") {
		if a := strings.ToLower(agent); a == strings.ToLower(agentName) {
			directives = rest
		} else if a != "unavailable_after" && a != "max-snippet" && a != "max-image-preview" && a != "max-video-preview" {
			return
		}
	}
	for _, d := range strings.Split(strings.ToLower(directives), ",") {
		switch strings.TrimSpace(d) {
		case "noindex":
			p.noIndex = true
		case "nofollow":
			p.noFollow = true
		case "none":
			p.noIndex, p.noFollow = true, true
		}
	}
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return strings.TrimSpace(a.Val)
		}
	}
	return ""
}

// contentHash returns the version of a file.
func contentHash(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:16])
}

// readBody reads at most limit bytes, and one more if there are more.
func readBody(r io.Reader, limit int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, limit+1))
}
