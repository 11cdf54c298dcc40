package authn

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"magpie/internal/apierr"
)

// CheckOrigin lets a publishable key work only from its allowed hosts and
// referers; secret keys pass. The host is the Origin's, else the Referer's; a
// request with neither is refused. An entry covers all ports of its host,
// *.example.com the subdomains of example.com, and * every host. Allowed
// referers match by origin or by path prefix.
func (k Key) CheckOrigin(h http.Header) error {
	if !k.Publishable {
		return nil
	}
	refused := apierr.New(apierr.Forbidden, "Host not allowed")
	if len(h.Values("Origin")) > 1 || len(h.Values("Referer")) > 1 {
		return refused
	}
	origin, referer := h.Get("Origin"), h.Get("Referer")
	from := origin
	if from == "" {
		from = referer
	}
	u, err := url.Parse(from)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return refused
	}
	if !matchesAny(k.Hosts, func(entry string) bool { return hostMatches(entry, u.Hostname()) }) {
		return refused
	}
	if len(k.Referers) == 0 {
		return nil
	}
	seen := referer
	if seen == "" {
		seen = origin
	}
	r, err := url.Parse(seen)
	if err != nil || !matchesAny(k.Referers, func(entry string) bool { return refererMatches(entry, r) }) {
		return refused
	}
	return nil
}

func matchesAny(entries []string, match func(string) bool) bool {
	for _, e := range entries {
		if match(e) {
			return true
		}
	}
	return false
}

func hostMatches(entry, host string) bool {
	entry, host = strings.ToLower(strings.TrimSpace(entry)), strings.TrimSuffix(strings.ToLower(host), ".")
	if entry == "*" {
		return true
	}
	if base, ok := strings.CutPrefix(entry, "*."); ok {
		return strings.HasSuffix(host, "."+hostOf(base))
	}
	return host != "" && host == hostOf(entry)
}

// hostOf takes the host out of an entry that may be a host, host:port or URL.
func hostOf(entry string) string {
	if !strings.Contains(entry, "://") {
		entry = "http://" + entry
	}
	u, err := url.Parse(entry)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// refererMatches compares origins; where the caller's browser sent more than
// the origin, its path must begin with the entry's path.
func refererMatches(entry string, got *url.URL) bool {
	want, err := url.Parse(strings.TrimSpace(entry))
	if err != nil || want.Host == "" {
		return false
	}
	if !strings.EqualFold(want.Scheme, got.Scheme) || !strings.EqualFold(want.Host, got.Host) {
		return false
	}
	if got.Path == "" || got.Path == "/" {
		return true // a cross-site browser sends the origin only
	}
	prefix, at := strings.TrimSuffix(want.Path, "/"), path.Clean(got.Path)
	return at == prefix || strings.HasPrefix(at, prefix+"/")
}
