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
)

// The bounds of the sitemaps protocol (sitemaps.org, version 0.9).
const (
	// sitemapNotes are of addresses at which there was a sitemap.
	sitemapNotes = "sitemap/"

	maxSitemap        = 50 << 20 // bytes, unpacked
	maxSitemapEntries = 50_000
)

// sitemap is what a sitemap, an index of sitemaps or a feed names.
type sitemap struct{ pages, sitemaps []*url.URL }

// readSitemap reads a sitemap in any of the protocol's forms: XML, text with an
// address a line, RSS and Atom feeds, all of them packed or not. What comes
// after something that cannot be read is left out; whole is false then, and for
// what is no sitemap.
func readSitemap(at *url.URL, body io.Reader) (found sitemap, whole bool) {
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
		whole = found.readXML(at, buffered)
	} else {
		whole = found.readLines(at, buffered)
	}
	return found, whole
}

func (s *sitemap) full() bool { return len(s.pages)+len(s.sitemaps) >= maxSitemapEntries }

func (s *sitemap) readLines(at *url.URL, body io.Reader) (whole bool) {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4096), 64<<10)
	for lines.Scan() && !s.full() {
		if text := strings.TrimSpace(lines.Text()); strings.Contains(text, "://") {
			if u, err := canonical(at, text); err == nil {
				s.pages = append(s.pages, u)
			}
		}
	}
	return lines.Err() == nil && len(s.pages) > 0
}

func (s *sitemap) readXML(at *url.URL, body io.Reader) (whole bool) {
	decoder := xml.NewDecoder(body)
	decoder.Strict = false
	decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	var open []string
	var text strings.Builder
	for !s.full() {
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
				return false
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
			if open = open[:len(open)-1]; len(open) == 0 {
				return true
			}
			text.Reset()
		}
	}
	return true // as much as the protocol allows
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

// sitemap reads a sitemap and queues what it names.
func (v *visit) sitemap(ctx context.Context, e entry, u *url.URL) error {
	v.asked++
	outer := ctx
	ctx, cancel := v.source.bounded(ctx)
	defer cancel()
	response, err := v.source.request(ctx, e.Address, nil)
	if err != nil {
		return v.unreachable(ctx, e, u, err)
	}
	defer func() { _ = response.Body.Close() }()
	switch {
	case redirects(response.StatusCode):
		if to, err := canonical(u, response.Header.Get("Location")); err == nil {
			v.add(to, entry{Sitemap: true, Named: e.Named})
		}
		return nil
	case response.StatusCode >= 400 && response.StatusCode < 500 && response.StatusCode != http.StatusTooManyRequests:
		return nil // there is none
	}
	var named sitemap
	whole, page := false, isPage(response.Header)
	if response.StatusCode == http.StatusOK {
		named, whole = readSitemap(u, response.Body)
	}
	if outer.Err() != nil {
		return outer.Err()
	}
	if again, err := v.judge(outer, e, u, whole && !page); err != nil || again {
		return err
	}
	for _, to := range named.sitemaps {
		v.add(to, entry{Sitemap: true, Named: true})
	}
	for _, to := range named.pages {
		v.follow(to, 0)
	}
	return nil
}

func errNoSitemap() error {
	return errors.New("the site answers with something that is no sitemap, or not a whole one")
}

// judge looks after a sitemap that was read, or after what came in its place: where
// there ought to be a sitemap, it is asked for again, and at last told of. Many
// sites have a page at any address that they do not know.
func (v *visit) judge(ctx context.Context, e entry, u *url.URL, whole bool) (again bool, err error) {
	s := v.source
	name := sitemapNotes + recordName(e.Address)
	if whole {
		if err := s.notes.Put(ctx, name, []byte("1")); err != nil {
			return false, fmt.Errorf("keep what is known of a sitemap: %w", err)
		}
		return false, nil
	}
	known, err := s.notes.Get(ctx, name)
	if err != nil {
		return false, fmt.Errorf("read what is known of a sitemap: %w", err)
	}
	expected := e.Named || len(known) > 0
	switch {
	case expected && e.Try+1 < tries:
		v.again(e, u, errNoSitemap())
		return true, nil
	case expected:
		v.warn(fmt.Sprintf("%s answers with something that is no sitemap, or not a whole one: pages that it alone names were not looked for. Check the address, and whether a proxy or a login stands between.", u))
	}
	return false, nil
}
