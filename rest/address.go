package rest

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// address is the client's address for counting. X-Forwarded-For is believed
// only where the request, and every hop to the right of the answer, came from a
// trusted proxy: anything further left is the client's own claim. An IPv6
// client counts by its /64, the least that one is given.
func (t *Transport) address(r *http.Request) string {
	at, ok := hostAddress(r.RemoteAddr)
	if !ok {
		return "unknown"
	}
	if t.trusted(at) {
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, hop := range slices.Backward(hops) {
			next, ok := hostAddress(strings.TrimSpace(hop))
			if !ok {
				break
			}
			if at = next; !t.trusted(at) {
				break
			}
		}
	}
	if at.Is6() {
		if whole, err := at.Prefix(64); err == nil {
			return whole.String()
		}
	}
	return at.String()
}

func (t *Transport) trusted(at netip.Addr) bool {
	return slices.ContainsFunc(t.proxies, func(p netip.Prefix) bool { return p.Contains(at) })
}

// hostAddress reads an address with or without a port.
func hostAddress(s string) (netip.Addr, bool) {
	if both, err := netip.ParseAddrPort(s); err == nil {
		return both.Addr().Unmap().WithZone(""), true
	}
	at, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return at.Unmap().WithZone(""), err == nil
}
