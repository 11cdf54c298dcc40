package authn

import (
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/apierr"
)

// CheckOrigin returns an error if a publishable key may not be used from the origin
// of a request. Secret keys are always allowed. The host is that of the Origin
// header, or else of the Referer; a request with neither is refused. An allowed
// host covers all ports, or the one that it names; *.example.com covers the
// subdomains of example.com, and * every host. Allowed referers match by origin or
// by path prefix.
func (k Key) CheckOrigin(h http.Header) error {
	if !k.Publishable {
		return nil
	}
	refused := apierr.New(apierr.Forbidden, "Host not allowed")
	if len(h.Values("Origin")) > 1 || len(h.Values("Referer")) > 1 {
		return refused
	}
	allowed := k.origins
	if allowed == nil {
		allowed = parseAllowedOrigins(k.Hosts, k.Referers)
	}
	origin, referer := h.Get("Origin"), h.Get("Referer")
	var from page
	var ok bool
	if origin != "" {
		from, ok = parseOrigin(origin)
	} else {
		from, ok = parsePage(referer)
	}
	if !ok || !allowed.matchesHost(from) {
		return refused
	}
	if len(k.Referers) == 0 {
		return nil
	}
	if referer != "" {
		from, ok = parsePage(referer)
	}
	if !ok || !allowed.matchesReferer(from) {
		return refused
	}
	return nil
}

// allowedOrigins are the parsed allowed hosts and referers of a key.
type allowedOrigins struct {
	hosts    []hostRule
	referers []refererRule
}

// parseAllowedOrigins parses a key's settings. It ignores invalid entries, which
// rows of an older version may have.
func parseAllowedOrigins(hosts, referers []string) *allowedOrigins {
	o := &allowedOrigins{}
	for _, h := range hosts {
		if rule, err := parseHostRule(h); err == nil {
			o.hosts = append(o.hosts, rule)
		}
	}
	for _, r := range referers {
		if rule, err := parseRefererRule(r); err == nil {
			o.referers = append(o.referers, rule)
		}
	}
	return o
}

func (o *allowedOrigins) matchesHost(p page) bool {
	for _, rule := range o.hosts {
		if rule.matches(p) {
			return true
		}
	}
	return false
}

func (o *allowedOrigins) matchesReferer(p page) bool {
	for _, rule := range o.referers {
		if rule.matches(p) {
			return true
		}
	}
	return false
}

// page is the address of a page: scheme, host and port in canonical form, and the
// cleaned path.
type page struct {
	scheme, host, port, path string
}

// parseOrigin parses an Origin header. It reports false for "null" and for an
// address with more than scheme, host and port.
func parseOrigin(text string) (page, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return page{}, false
	}
	return pageOf(u)
}

// parsePage parses the address of a page.
func parsePage(text string) (page, bool) {
	u, err := url.Parse(text)
	if err != nil {
		return page{}, false
	}
	return pageOf(u)
}

func pageOf(u *url.URL) (page, bool) {
	port := u.Port()
	if port == "" {
		port = defaultPort(u.Scheme)
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 || defaultPort(u.Scheme) == "" || u.User != nil || u.Opaque != "" {
		return page{}, false
	}
	host, ok := canonicalHost(u.Hostname())
	p := page{scheme: u.Scheme, host: host, port: port}
	if u.Path != "" && u.Path != "/" {
		p.path = path.Clean(u.Path)
	}
	return p, ok
}

// defaultPort returns the port of HTTP or HTTPS, or "" for other schemes.
func defaultPort(scheme string) string {
	switch scheme {
	case "http":
		return "80"
	case "https":
		return "443"
	default:
		return ""
	}
}

// refererRule is an entry of the allowed referers.
type refererRule struct {
	scheme string
	host   hostRule
	path   string // without a slash at the end
}

// matches compares the origin and, if the browser sent a path, whether it begins
// with the rule's path.
func (r refererRule) matches(p page) bool {
	if p.scheme != r.scheme || !r.host.matches(p) {
		return false
	}
	if p.path == "" || p.path == "/" {
		return true // a cross-site browser sends the origin only
	}
	return p.path == r.path || strings.HasPrefix(p.path, r.path+"/")
}
