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
)

// maxLinks is how many links of one page are followed.
const maxLinks = 2000

// page is what a crawl needs to know of a fetched HTML page.
type page struct {
	title     string
	canonical *url.URL // that the page names for itself; nil for none
	links     []*url.URL
	noIndex   bool
	noFollow  bool
	// version is the hash of what can be read on the page: marks that change with
	// every answer, as forms have them, are no change.
	version string
}

// readPage reads a page. The header may hold a robots tag as well as the page.
func readPage(at *url.URL, header http.Header, body []byte) *page {
	p := &page{}
	for _, value := range header.Values("X-Robots-Tag") {
		p.obey(value)
	}
	reader, err := charset.NewReader(bytes.NewReader(body), header.Get("Content-Type"))
	if err != nil {
		reader = bytes.NewReader(body)
	}
	base := at
	seen := map[string]bool{}
	sum := sha256.New()
	hidden, inTitle := 0, false
	follow := func(text string) {
		if len(p.links) >= maxLinks {
			return
		}
		if u, err := canonical(base, text); err == nil && !seen[u.String()] {
			seen[u.String()] = true
			p.links = append(p.links, u)
		}
	}
	z := html.NewTokenizer(reader)
	z.SetMaxBuf(1 << 20)
	for {
		switch z.Next() {
		case html.ErrorToken:
			p.version = hex.EncodeToString(sum.Sum(nil)[:16])
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
				p.title = cut(string(text), 500)
			}
			if hidden == 0 {
				_, _ = sum.Write(text)
				_, _ = sum.Write([]byte{'\n'})
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
				if u, err := canonical(at, attribute(t, "href")); err == nil {
					base = u
				}
			case atom.Meta:
				switch strings.ToLower(attribute(t, "name")) {
				case "robots", strings.ToLower(agentName):
					p.obey(attribute(t, "content"))
				}
				if strings.EqualFold(attribute(t, "http-equiv"), "refresh") {
					if _, to, ok := strings.Cut(strings.ToLower(attribute(t, "content")), "url="); ok {
						content := attribute(t, "content")
						follow(strings.Trim(content[len(content)-len(to):], `'" `))
					}
				}
			case atom.Link:
				rel := " " + strings.ToLower(attribute(t, "rel")) + " "
				if strings.Contains(rel, " canonical ") && p.canonical == nil {
					if u, err := canonical(base, attribute(t, "href")); err == nil {
						p.canonical = u
					}
				}
				if strings.Contains(rel, " next ") || strings.Contains(rel, " prev ") {
					follow(attribute(t, "href"))
				}
			case atom.A, atom.Area:
				if rel := " " + strings.ToLower(attribute(t, "rel")) + " "; !strings.Contains(rel, " nofollow ") {
					if href := attribute(t, "href"); href != "" {
						follow(href)
					}
				}
			case atom.Frame, atom.Iframe:
				follow(attribute(t, "src"))
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

// obey takes the directives of a robots tag; those for another crawler are passed over.
func (p *page) obey(directives string) {
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

// versionOf is the version of content that is no page.
func versionOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// readBody reads at most limit bytes; more is reported by a body that is one
// byte longer.
func readBody(r io.Reader, limit int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, limit+1))
}
