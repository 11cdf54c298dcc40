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

// maxAddress is the longest address that is followed, in bytes: traps grow theirs.
const maxAddress = 1000

// errAddress is of texts that are no address of a page.
var errAddress = errors.New("is not the address of a web page")

// canonical is an address in the one form in which it is compared and kept: an
// absolute http or https address without user, fragment, default port, dot
// segments and parameters that only count visits (RFC 3986, section 6.2).
func canonical(base *url.URL, text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 2*maxAddress || strings.ContainsAny(text, "\x00\r\n\t") {
		return nil, errAddress
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errAddress
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" {
		return nil, errAddress
	}
	host, err := hostOf(u)
	if err != nil {
		return nil, err
	}
	u.Host, u.User, u.Fragment, u.RawFragment = host, nil, "", ""
	u.RawQuery = counted(u.RawQuery)
	u.ForceQuery = false
	p := cleanPath(u.EscapedPath())
	if u.Path, err = url.PathUnescape(p); err != nil {
		return nil, errAddress
	}
	u.RawPath = p
	if len(u.String()) > maxAddress {
		return nil, errAddress
	}
	return u, nil
}

// hostOf is the host in lower case and as it is on the wire, with its port
// unless that is the scheme's own.
func hostOf(u *url.URL) (string, error) {
	name := strings.TrimSuffix(u.Hostname(), ".")
	if name == "" {
		return "", errAddress
	}
	if net.ParseIP(name) == nil {
		ascii, err := idna.Lookup.ToASCII(name)
		if err != nil {
			return "", errAddress
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

// cleanPath resolves dot segments and brings escapes into one form. An empty
// segment stays: servers may tell it from none.
func cleanPath(escaped string) string {
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
		if v, ok := unhex(escaped[i+1], escaped[i+2]); ok && unreserved(v) {
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

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// counted is a query without the parameters that only say where a visitor came
// from, or who it is.
func counted(query string) string {
	if query == "" {
		return ""
	}
	kept := make([]string, 0, 4)
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
		kept = append(kept, pair)
	}
	return strings.Join(kept, "&")
}

// The widths of a crawl.
const (
	scopePath   = "path"
	scopeHost   = "host"
	scopeDomain = "domain"
)

// scope says which addresses belong to a crawl.
type scope struct {
	width  string
	starts []*url.URL
}

// holds says whether an address belongs to the crawl. That a site has moved from
// http to https makes it no other one.
func (s *scope) holds(u *url.URL) bool {
	for _, start := range s.starts {
		switch s.width {
		case scopeDomain:
			if domainOf(u.Hostname()) == domainOf(start.Hostname()) {
				return true
			}
		case scopeHost:
			if u.Host == start.Host {
				return true
			}
		default:
			if u.Host == start.Host && strings.HasPrefix(u.EscapedPath(), folderOf(start)) {
				return true
			}
		}
	}
	return false
}

// folderOf is the folder that a start address is in: itself, where it ends in a slash.
func folderOf(start *url.URL) string {
	p := start.EscapedPath()
	return p[:strings.LastIndexByte(p, '/')+1]
}

// domainOf is the domain that somebody registered: example.co.uk for
// docs.example.co.uk. A name without one, or an address, is its own.
func domainOf(host string) string {
	if net.ParseIP(host) != nil {
		return host
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}

// place is the path of an address as filters and people see it. That of another
// host than the first start's begins with the host.
func (s *scope) place(u *url.URL) string {
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

// addressOf is the address that a place of a sync's file_filter names: an address, or a path.
func (s *scope) addressOf(text string) (*url.URL, error) {
	if strings.Contains(text, "://") {
		return canonical(nil, text)
	}
	if len(s.starts) == 0 {
		return nil, errAddress
	}
	root := *s.starts[0]
	root.Path, root.RawPath, root.RawQuery = "/", "", ""
	if text == "index" {
		return canonical(&root, "/")
	}
	for _, start := range s.starts[1:] {
		if rest, ok := strings.CutPrefix(text, start.Host+"/"); ok {
			root.Scheme, root.Host, text = start.Scheme, start.Host, rest
			break
		}
	}
	name, query, _ := strings.Cut(text, "?")
	root.Path, root.RawQuery = "/"+strings.TrimLeft(name, "/"), query
	return canonical(nil, root.String())
}

// startsOf reads the start addresses of a config.
func startsOf(texts []string) ([]*url.URL, error) {
	starts := make([]*url.URL, 0, len(texts))
	for i, text := range texts {
		if !strings.Contains(text, "://") {
			text = "https://" + text
		}
		if given, err := url.Parse(text); err == nil && given.User != nil {
			return nil, fmt.Errorf("entry %d must not have a user name or password in it; give them as credentials", i+1)
		}
		u, err := canonical(nil, text)
		if err != nil {
			return nil, fmt.Errorf("entry %d %w; write one such as https://docs.example.com/", i+1, err)
		}
		starts = append(starts, u)
	}
	return starts, nil
}
