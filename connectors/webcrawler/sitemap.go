package webcrawler

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"io"
	"net/url"
	"strings"
)

// The bounds of the sitemaps protocol (sitemaps.org, version 0.9).
const (
	maxSitemap        = 50 << 20 // bytes, unpacked
	maxSitemapEntries = 50_000
)

// sitemap is what a sitemap, an index of sitemaps or a feed names.
type sitemap struct{ pages, sitemaps []*url.URL }

// readSitemap reads a sitemap in any of the protocol's forms: XML, text with an
// address a line, RSS and Atom feeds, all of them packed or not. What comes
// after something that cannot be read is left out.
func readSitemap(at *url.URL, body io.Reader) (found sitemap) {
	buffered := bufio.NewReader(io.LimitReader(body, maxSitemap))
	if head, _ := buffered.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return found
		}
		buffered = bufio.NewReader(io.LimitReader(unpacked, maxSitemap))
	}
	head, _ := buffered.Peek(512)
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if bytes.HasPrefix(head, []byte("<")) {
		found.readXML(at, buffered)
	} else {
		found.readLines(at, buffered)
	}
	return found
}

func (s *sitemap) full() bool { return len(s.pages)+len(s.sitemaps) >= maxSitemapEntries }

func (s *sitemap) readLines(at *url.URL, body io.Reader) {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4096), 64<<10)
	for lines.Scan() && !s.full() {
		if text := strings.TrimSpace(lines.Text()); strings.Contains(text, "://") {
			if u, err := canonical(at, text); err == nil {
				s.pages = append(s.pages, u)
			}
		}
	}
}

func (s *sitemap) readXML(at *url.URL, body io.Reader) {
	decoder := xml.NewDecoder(body)
	decoder.Strict = false
	decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	var open []string
	var text strings.Builder
	for !s.full() {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(open) > 32 {
				return
			}
			open = append(open, t.Name.Local)
			text.Reset()
			if t.Name.Local == "link" { // of Atom
				for _, a := range t.Attr {
					if a.Name.Local == "href" && len(open) > 1 && open[len(open)-2] == "entry" {
						s.add(at, "url", a.Value)
					}
				}
			}
		case xml.CharData:
			if text.Len() < 2*maxAddress {
				text.Write(t)
			}
		case xml.EndElement:
			if len(open) == 0 {
				return
			}
			within := ""
			if len(open) > 1 {
				within = open[len(open)-2]
			}
			switch name := open[len(open)-1]; {
			case name == "loc" && (within == "url" || within == "sitemap"):
				s.add(at, within, text.String())
			case name == "link" && within == "item": // of RSS
				s.add(at, "url", text.String())
			}
			open = open[:len(open)-1]
			text.Reset()
		}
	}
}

func (s *sitemap) add(at *url.URL, kind, text string) {
	u, err := canonical(at, text)
	switch {
	case err != nil:
	case kind == "sitemap":
		s.sitemaps = append(s.sitemaps, u)
	default:
		s.pages = append(s.pages, u)
	}
}
