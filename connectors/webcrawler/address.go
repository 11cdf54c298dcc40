package webcrawler

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// maxURL is the length of the longest URL that is followed, in bytes. Traps
// have growing URLs.
const maxURL = 1000

// errNotPage is the error of a text that is no URL of a page.
var errNotPage = errors.New("is not the address of a web page")

// canonicalURL returns a URL in the form in which URLs are compared and stored:
// an absolute http or https URL without user, fragment, default port, dot
// segments and tracking parameters (RFC 3986, section 6.2).
func canonicalURL(base *url.URL, text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 2*maxURL || strings.ContainsAny(text, "\x00\r\n\t") {
		return nil, errNotPage
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errNotPage
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" {
		return nil, errNotPage
	}
	host, err := canonicalHost(u)
	if err != nil {
		return nil, err
	}
	u.Host, u.User, u.Fragment, u.RawFragment = host, nil, "", ""
	u.RawQuery = stripTracking(u.RawQuery)
	u.ForceQuery = false
	p := canonicalPath(u.EscapedPath())
	if u.Path, err = url.PathUnescape(p); err != nil {
		return nil, errNotPage
	}
	u.RawPath = p
	if len(u.String()) > maxURL {
		return nil, errNotPage
	}
	return u, nil
}

// canonicalHost returns the host in lower-case ASCII, with its port unless that
// is the default.
func canonicalHost(u *url.URL) (string, error) {
	name := strings.TrimSuffix(u.Hostname(), ".")
	if name == "" {
		return "", errNotPage
	}
	if net.ParseIP(name) == nil {
		ascii, err := idna.Lookup.ToASCII(name)
		if err != nil {
			return "", errNotPage
		}
		name = ascii
	} else if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	port := u.Port()
	if port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		return name, nil
	}
	return name + ":" + port, nil
}

// canonicalPath resolves dot segments and normalizes escapes. Empty segments
// remain, since servers may distinguish them.
func canonicalPath(escaped string) string {
	if escaped == "" {
		return "/"
	}
	var b strings.Builder
	for i := 0; i < len(escaped); i++ {
		c := escaped[i]
		if c != '%' || i+2 >= len(escaped) {
			b.WriteByte(c)
			continue
		}
		if v, ok := unhex(escaped[i+1], escaped[i+2]); ok && isUnreserved(v) {
			b.WriteByte(v)
		} else {
			b.WriteString(strings.ToUpper(escaped[i : i+3]))
		}
		i += 2
	}
	p := b.String()
	if strings.Contains(p, "/.") {
		end := strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/.") || strings.HasSuffix(p, "/..")
		if p = path.Clean("/" + p); end && p != "/" {
			p += "/"
		}
	}
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return p
}

func unhex(high, low byte) (byte, bool) {
	digit := func(c byte) (byte, bool) {
		switch {
		case c >= '0' && c <= '9':
			return c - '0', true
		case c >= 'a' && c <= 'f':
			return c - 'a' + 10, true
		case c >= 'A' && c <= 'F':
			return c - 'A' + 10, true
		}
		return 0, false
	}
	h, okHigh := digit(high)
	l, okLow := digit(low)
	return h<<4 | l, okHigh && okLow
}

func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// stripTracking returns a query without the parameters that identify visits and
// visitors.
func stripTracking(query string) string {
	if query == "" {
		return ""
	}
	pairs := make([]string, 0, 4)
	for _, pair := range strings.Split(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		name = strings.ToLower(name)
		switch {
		case pair == "", strings.HasPrefix(name, "utm_"), strings.HasPrefix(name, "mtm_"), strings.HasPrefix(name, "pk_"):
			continue
		}
		switch name {
		case "gclid", "fbclid", "msclkid", "dclid", "yclid", "mc_cid", "mc_eid", "_ga", "_gl", "igshid",
			"phpsessid", "jsessionid", "sid", "sessionid", "aspsessionid":
			continue
		}
		pairs = append(pairs, pair)
	}
	return strings.Join(pairs, "&")
}

// The values of the option scope.
const (
	scopePath   = "path"
	scopeHost   = "host"
	scopeDomain = "domain"
)

// A scope is the set of URLs that belong to a crawl.
type scope struct {
	reach  string
	starts []*url.URL
}

// contains reports whether a URL belongs to the crawl. The scheme does not
// matter, since sites move from http to https.
func (s *scope) contains(u *url.URL) bool {
	for _, start := range s.starts {
		switch s.reach {
		case scopeDomain:
			if registeredDomain(u.Hostname()) == registeredDomain(start.Hostname()) {
				return true
			}
		case scopeHost:
			if u.Host == start.Host {
				return true
			}
		default:
			if u.Host == start.Host && strings.HasPrefix(u.EscapedPath(), startFolder(start)) {
				return true
			}
		}
	}
	return false
}

// startFolder returns the folder of a start URL: its path up to the last slash.
func startFolder(start *url.URL) string {
	p := start.EscapedPath()
	return p[:strings.LastIndexByte(p, '/')+1]
}

// registeredDomain returns the registered domain of a host, such as
// example.co.uk for docs.example.co.uk. Other names and addresses are returned
// unchanged.
func registeredDomain(host string) string {
	if net.ParseIP(host) != nil {
		return host
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}

// path returns the item path of a URL. It begins with the host unless that is
// the first start URL's.
func (s *scope) path(u *url.URL) string {
	p := strings.TrimPrefix(u.Path, "/")
	if u.RawQuery != "" {
		p += "?" + u.RawQuery
	}
	if len(s.starts) > 0 && u.Host != s.starts[0].Host {
		return u.Host + "/" + p
	}
	if p == "" {
		return "index"
	}
	return p
}

// urlOf returns the URL of a name: a URL or an item path.
func (s *scope) urlOf(text string) (*url.URL, error) {
	if strings.Contains(text, "://") {
		return canonicalURL(nil, text)
	}
	if len(s.starts) == 0 {
		return nil, errNotPage
	}
	root := *s.starts[0]
	root.Path, root.RawPath, root.RawQuery = "/", "", ""
	if text == "index" {
		return canonicalURL(&root, "/")
	}
	for _, start := range s.starts[1:] {
		if rest, ok := strings.CutPrefix(text, start.Host+"/"); ok {
			root.Scheme, root.Host, text = start.Scheme, start.Host, rest
			break
		}
	}
	name, query, _ := strings.Cut(text, "?")
	root.Path, root.RawQuery = "/"+strings.TrimLeft(name, "/"), query
	return canonicalURL(nil, root.String())
}

// parseStartURLs parses the start URLs of a config.
func parseStartURLs(texts []string) ([]*url.URL, error) {
	starts := make([]*url.URL, 0, len(texts))
	for i, text := range texts {
		if !strings.Contains(text, "://") {
			text = "https://" + text
		}
		if given, err := url.Parse(text); err == nil && given.User != nil {
			return nil, fmt.Errorf("entry %d must not have a user name or password in it; give them as credentials", i+1)
		}
		u, err := canonicalURL(nil, text)
		if err != nil {
			return nil, fmt.Errorf("entry %d %w; write one such as https://docs.example.com/", i+1, err)
		}
		starts = append(starts, u)
	}
	return starts, nil
}
