package authn

import (
	"errors"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// hostRule is an entry of the allowed hosts.
type hostRule struct {
	any        bool   // all hosts
	subdomains bool   // the subdomains of host without host itself
	host       string // in canonical form
	port       string // empty: all ports
}

func (r hostRule) matches(p page) bool {
	if r.port != "" && r.port != p.port {
		return false
	}
	switch {
	case r.any:
		return true
	case r.subdomains:
		return strings.HasSuffix(p.host, r.host) && len(p.host) > len(r.host)+1 && p.host[len(p.host)-len(r.host)-1] == '.'
	default:
		return p.host == r.host
	}
}

// parseHostRule parses an entry: a host, *.host or *, with or without a port, or
// the address of a site without a path. The error continues the phrase "an entry
// that".
func parseHostRule(entry string) (hostRule, error) {
	text := strings.TrimSpace(entry)
	if scheme, rest, found := strings.Cut(text, "://"); found {
		if s := strings.ToLower(scheme); s != "http" && s != "https" {
			return hostRule{}, errors.New("begins with another scheme than http or https")
		}
		text = strings.TrimSuffix(rest, "/")
	}
	if strings.ContainsAny(text, "/?#@\\") {
		return hostRule{}, errors.New("is more than a host; paths belong to the allowed referers")
	}
	host, port, err := splitPort(text)
	if err != nil {
		return hostRule{}, err
	}
	return newHostRule(host, port)
}

// newHostRule parses a host without a port.
func newHostRule(host, port string) (hostRule, error) {
	rule := hostRule{port: port}
	if host == "*" {
		rule.any = true
		return rule, nil
	}
	host, rule.subdomains = strings.CutPrefix(host, "*.")
	ok := false
	if rule.host, ok = canonicalHost(host); !ok {
		return hostRule{}, errors.New("is no host name; write it as example.com, *.example.com or *")
	}
	if _, err := netip.ParseAddr(rule.host); err == nil && rule.subdomains {
		return hostRule{}, errors.New("asks for subdomains of an address")
	}
	return rule, nil
}

// splitPort splits a host and its port. An IPv6 address may have brackets. The port
// "*" means all ports.
func splitPort(text string) (host, port string, err error) {
	bad := errors.New("has no port after its colon, from 1 to 65535")
	if at, err := netip.ParseAddr(text); err == nil && at.Is6() {
		return text, "", nil
	}
	var rest string
	if strings.HasPrefix(text, "[") {
		inside, after, found := strings.Cut(text[1:], "]")
		at, err := netip.ParseAddr(inside)
		if !found || err != nil || !at.Is6() {
			return "", "", errors.New("is no host name; an IPv6 address stands in brackets")
		}
		host, rest = inside, after
		if rest == "" {
			return host, "", nil
		}
		if !strings.HasPrefix(rest, ":") {
			return "", "", bad
		}
		rest = rest[1:]
	} else {
		found := false
		if host, rest, found = strings.Cut(text, ":"); !found {
			return host, "", nil
		}
	}
	if rest == "*" {
		return host, "", nil
	}
	number, err := strconv.ParseUint(rest, 10, 16)
	if err != nil || number == 0 {
		return "", "", bad
	}
	return host, strconv.FormatUint(number, 10), nil
}

// hostNames maps host names as browsers do before a lookup (UTS 46), so that
// bücher.example and xn--bcher-kva.example are equal.
var hostNames = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false))

// canonicalHost returns a host as browsers send it: in lower case, international
// names in ASCII, addresses in their shortest form, without a dot at the end. It
// reports false for an invalid host.
func canonicalHost(host string) (string, bool) {
	if strings.Contains(host, ":") {
		at, err := netip.ParseAddr(host)
		return at.String(), err == nil && at.Is6() && at.Zone() == ""
	}
	if !isPlain(host) {
		var err error
		if host, err = hostNames.ToASCII(host); err != nil {
			return "", false
		}
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" || len(host) > 253 {
		return "", false
	}
	last := ""
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || !isPlain(label) {
			return "", false
		}
		last = label
	}
	// Browsers treat a name that ends in a number as an IPv4 address.
	if last[0] >= '0' && last[0] <= '9' && strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		at, err := netip.ParseAddr(host)
		return at.String(), err == nil
	}
	return host, true
}

// isPlain reports whether a name needs no mapping.
func isPlain(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return true
}

// parseRefererRule parses an entry of the allowed referers: the address of a page,
// https://example.com/docs, or of a site. A /* at the end has no effect.
func parseRefererRule(entry string) (refererRule, error) {
	u, err := url.Parse(strings.TrimSpace(entry))
	switch {
	case err != nil || u.Host == "":
		return refererRule{}, errors.New("is no URL such as https://example.com/docs")
	case u.Scheme != "http" && u.Scheme != "https":
		return refererRule{}, errors.New("begins with another scheme than http or https")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return refererRule{}, errors.New("has more than a host and a path")
	}
	host, port, err := splitPort(u.Host)
	if err != nil {
		return refererRule{}, err
	}
	if port == "" {
		port = defaultPort(u.Scheme)
	}
	rule := refererRule{scheme: u.Scheme}
	if rule.host, err = newHostRule(host, port); err != nil {
		return refererRule{}, err
	}
	if at := strings.TrimSuffix(u.Path, "*"); at == u.Path || strings.HasSuffix(at, "/") {
		rule.path = strings.TrimSuffix(path.Clean("/"+at), "/")
		return rule, nil
	}
	return refererRule{}, errors.New("has a star inside its path")
}
