package webcrawler

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors/restapi"
)

// The limits of the sitemaps protocol (sitemaps.org, version 0.9).
const (
	// sitemapPrefix is the prefix of keys for URLs that had a sitemap.
	sitemapPrefix = "sitemap/"

	maxSitemap        = 50 << 20 // bytes, uncompressed
	maxSitemapEntries = 50_000
)

// A sitemap has the URLs in a sitemap, an index of sitemaps or a feed.
type sitemap struct{ pages, sitemaps []*url.URL }

// parseSitemap parses a sitemap in any form of the protocol: XML, text with a
// URL a line, RSS and Atom feeds, compressed or not. Entries after an error are
// left out, and complete is false. It is also false for other content.
func parseSitemap(base *url.URL, body io.Reader) (found sitemap, complete bool) {
	buffered := bufio.NewReader(io.LimitReader(body, maxSitemap))
	if head, _ := buffered.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return found, false
		}
		buffered = bufio.NewReader(io.LimitReader(unpacked, maxSitemap))
	}
	head, _ := buffered.Peek(512)
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if bytes.HasPrefix(head, []byte("<")) {
		complete = found.readXML(base, buffered)
	} else {
		complete = found.readLines(base, buffered)
	}
	return found, complete
}

func (s *sitemap) isFull() bool { return len(s.pages)+len(s.sitemaps) >= maxSitemapEntries }

func (s *sitemap) readLines(base *url.URL, body io.Reader) (complete bool) {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4096), 64<<10)
	for lines.Scan() && !s.isFull() {
		if text := strings.TrimSpace(lines.Text()); strings.Contains(text, "://") {
			if u, err := canonicalURL(base, text); err == nil {
				s.pages = append(s.pages, u)
			}
		}
	}
	return lines.Err() == nil && len(s.pages) > 0
}

func (s *sitemap) readXML(base *url.URL, body io.Reader) (complete bool) {
	decoder := xml.NewDecoder(body)
	decoder.Strict = false
	decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	var open []string
	var text strings.Builder
	for !s.isFull() {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(open) > 32 || len(open) == 0 && !slices.Contains([]string{"urlset", "sitemapindex", "rss", "feed", "RDF"}, t.Name.Local) {
				return false
			}
			open = append(open, t.Name.Local)
			text.Reset()
			if t.Name.Local == "link" { // of Atom
				for _, a := range t.Attr {
					if a.Name.Local == "href" && len(open) > 1 && open[len(open)-2] == "entry" {
						s.add(base, "url", a.Value)
					}
				}
			}
		case xml.CharData:
			if text.Len() < 2*maxURL {
				text.Write(t)
			}
		case xml.EndElement:
			if len(open) == 0 {
				return false
			}
			within := ""
			if len(open) > 1 {
				within = open[len(open)-2]
			}
			switch name := open[len(open)-1]; {
			case name == "loc" && (within == "url" || within == "sitemap"):
				s.add(base, within, text.String())
			case name == "link" && within == "item": // of RSS
				s.add(base, "url", text.String())
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				return true
			}
			text.Reset()
		}
	}
	return true // the protocol's limit
}

func (s *sitemap) add(base *url.URL, kind, text string) {
	u, err := canonicalURL(base, text)
	switch {
	case err != nil:
	case kind == "sitemap":
		s.sitemaps = append(s.sitemaps, u)
	default:
		s.pages = append(s.pages, u)
	}
}

// fetchSitemap queues the URLs in a sitemap.
func (v *walkStep) fetchSitemap(ctx context.Context, e entry, u *url.URL) error {
	v.requests++
	callerCtx := ctx
	ctx, cancel := v.source.withTimeout(ctx)
	defer cancel()
	response, err := v.source.request(ctx, e.Address, nil)
	if err != nil {
		return v.handleUnreachable(ctx, e, u, err)
	}
	defer func() { _ = response.Body.Close() }()
	switch {
	case isRedirect(response.StatusCode):
		if to, err := canonicalURL(u, response.Header.Get("Location")); err == nil {
			v.add(to, entry{Sitemap: true, Expected: e.Expected})
		}
		return nil
	case response.StatusCode >= 400 && response.StatusCode < 500 && response.StatusCode != http.StatusTooManyRequests:
		return nil // there is no sitemap
	}
	var locations sitemap
	complete, isHTML := false, restapi.DeclaresHTML(response.Header)
	if response.StatusCode == http.StatusOK {
		locations, complete = parseSitemap(u, response.Body)
	}
	if callerCtx.Err() != nil {
		return callerCtx.Err()
	}
	if retried, err := v.checkSitemap(callerCtx, e, u, complete && !isHTML); err != nil || retried {
		return err
	}
	for _, to := range locations.sitemaps {
		v.add(to, entry{Sitemap: true, Expected: true})
	}
	for _, to := range locations.pages {
		v.followLink(to, 0)
	}
	return nil
}

func errNoSitemap() error {
	return errors.New("the site answers with something that is no sitemap, or not a whole one")
}

// checkSitemap handles the result of parsing. If a sitemap is expected but
// another content came, it is requested again and finally reported. Many sites
// return a page for any unknown URL.
func (v *walkStep) checkSitemap(ctx context.Context, e entry, u *url.URL, complete bool) (retried bool, err error) {
	s := v.source
	name := sitemapPrefix + recordKey(e.Address)
	if complete {
		if err := s.state.Put(ctx, name, []byte("1")); err != nil {
			return false, fmt.Errorf("keep what is known of a sitemap: %w", err)
		}
		return false, nil
	}
	saved, err := s.state.Get(ctx, name)
	if err != nil {
		return false, fmt.Errorf("read what is known of a sitemap: %w", err)
	}
	expected := e.Expected || len(saved) > 0
	switch {
	case expected && e.Attempts+1 < maxAttempts:
		v.retryLater(e, u, errNoSitemap())
		return true, nil
	case expected:
		v.addWarning(fmt.Sprintf("%s answers with something that is no sitemap, or not a whole one: pages that it alone names were not looked for. Check the address, and whether a proxy or a login stands between.", u))
	}
	return false, nil
}
