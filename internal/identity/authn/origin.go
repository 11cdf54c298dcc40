package authn

import (
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/apierr"
)

// CheckOrigin lets a publishable key work only from its allowed hosts and
// referers; secret keys pass. The host is the Origin's, else the Referer's; a
// request with neither is refused. An entry covers all ports of its host, or the
// one that it names; *.example.com covers the subdomains of example.com, and *
// every host. Allowed referers match by origin or by path prefix.
func (k Key) CheckOrigin(h http.Header) error {
	if !k.Publishable {
		return nil
	}
	refused := apierr.New(apierr.Forbidden, "Host not allowed")
	if len(h.Values("Origin")) > 1 || len(h.Values("Referer")) > 1 {
		return refused
	}
	allowed := k.places
	if allowed == nil {
		allowed = readOrigins(k.Hosts, k.Referers)
	}
	from, seen := h.Get("Origin"), h.Get("Referer")
	var page place
	var ok bool
	if from != "" {
		page, ok = readOrigin(from)
	} else {
		page, ok = readPage(seen)
	}
	if !ok || !allowed.host(page) {
		return refused
	}
	if len(k.Referers) == 0 {
		return nil
	}
	if seen != "" {
		page, ok = readPage(seen)
	}
	if !ok || !allowed.referer(page) {
		return refused
	}
	return nil
}

// origins are the places from which a publishable key works.
type origins struct {
	hosts    []hostRule
	referers []refererRule
}

// readOrigins reads a key's settings. What cannot be read, in a row of an older
// version, allows nothing.
func readOrigins(hosts, referers []string) *origins {
	o := &origins{}
	for _, h := range hosts {
		if rule, err := readHost(h); err == nil {
			o.hosts = append(o.hosts, rule)
		}
	}
	for _, r := range referers {
		if rule, err := readReferer(r); err == nil {
			o.referers = append(o.referers, rule)
		}
	}
	return o
}

func (o *origins) host(p place) bool {
	for _, rule := range o.hosts {
		if rule.covers(p) {
			return true
		}
	}
	return false
}

func (o *origins) referer(p place) bool {
	for _, rule := range o.referers {
		if rule.covers(p) {
			return true
		}
	}
	return false
}

// place is where a page is: scheme, host and port in their canonical forms, and
// its path, unescaped and without detours.
type place struct {
	scheme, host, port, path string
}

// readOrigin reads an Origin header: nothing follows the port, and "null" is no
// origin.
func readOrigin(text string) (place, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return place{}, false
	}
	return placeOf(u)
}

// readPage reads the address of a page.
func readPage(text string) (place, bool) {
	u, err := url.Parse(text)
	if err != nil {
		return place{}, false
	}
	return placeOf(u)
}

func placeOf(u *url.URL) (place, bool) {
	port := u.Port()
	if port == "" {
		port = usualPort(u.Scheme)
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 || usualPort(u.Scheme) == "" || u.User != nil || u.Opaque != "" {
		return place{}, false
	}
	host, ok := canonicalHost(u.Hostname())
	p := place{scheme: u.Scheme, host: host, port: port}
	if u.Path != "" && u.Path != "/" {
		p.path = path.Clean(u.Path)
	}
	return p, ok
}

// usualPort is that of a scheme in which pages come; empty for all others.
func usualPort(scheme string) string {
	switch scheme {
	case "http":
		return "80"
	case "https":
		return "443"
	default:
		return ""
	}
}

// refererRule is one entry of the allowed referers.
type refererRule struct {
	scheme string
	host   hostRule
	path   string // without a slash at its end
}

// covers compares origins; where the caller's browser sent more than the
// origin, its path must begin with the rule's path.
func (r refererRule) covers(p place) bool {
	if p.scheme != r.scheme || !r.host.covers(p) {
		return false
	}
	if p.path == "" || p.path == "/" {
		return true // a cross-site browser sends the origin only
	}
	return p.path == r.path || strings.HasPrefix(p.path, r.path+"/")
}
